// One training step (forward, PPO loss, backward, clip, Adam) of an actor-critic on one core,
// against that core's peak of fused multiply-adds.
#include <algorithm>
#include <string>

#include "bench/actor_critic_step.h"
#include "server/measure/limits.h"

namespace murmurate {
namespace {

void Measure(const std::string& model, const ModelSpec& spec, int rows, double target) {
  ActorCriticStep step(spec, rows);
  double seconds = 1e9, peak = 0;
  for (int turn = 0; turn < 5; ++turn) {
    peak = std::max(peak, MeasureFmaPeak());
    seconds = std::min(seconds, SecondsPerCall([&] { step.Run(); }));
  }
  Print({.name = "training step " + model + ", minibatch " + std::to_string(rows) + ", " +
                 std::to_string(static_cast<int>(seconds * 1e6)) + " us",
         .unit = "GFLOP/s",
         .ours = step.flops() / seconds * 1e-9,
         .limit = peak * 1e-9,
         .target = target});
}

}  // namespace
}  // namespace murmurate

int main() {
  using namespace murmurate;
  Measure("4-64-64-2", DenseModel(4, 64, 2), 64, 0);
  Measure("4-64-64-2", DenseModel(4, 64, 2), 256, 0);
  Measure("4-64-64-2", DenseModel(4, 64, 2), 1024, 0.45);
  Measure("17-256-256-6", DenseModel(17, 256, 6), 1024, 0);
  Measure("nature_cnn 84x84x4", NatureCnnModel(), 256, 0.6);
  Measure("17-64-lstm128-6 in sequences of 32", LstmModel(), 1024, 0);
}
