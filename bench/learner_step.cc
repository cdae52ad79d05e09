// What a trained step costs a learner alone (server/measure/batch_learning.h), against one core's peak
// of fused multiply-adds.
#include <algorithm>
#include <string>

#include "server/learn/algorithms.h"
#include "server/measure/batch_learning.h"
#include "server/measure/limits.h"

namespace murmurate {
namespace {

void Measure(const AlgorithmKind* kind, int epochs, int minibatch) {
  BatchLearning learning(kind, epochs, minibatch);
  double seconds = 1e9, peak = 0;
  for (int turn = 0; turn < 5; ++turn) {
    peak = std::max(peak, MeasureFmaPeak());
    seconds = std::min(seconds, SecondsPerCall([&] { learning.Learn(); }));
  }
  Print({.name = kind->name + ", " + std::to_string(epochs) + " epochs, minibatch " +
                 std::to_string(minibatch) + ": " +
                 std::to_string(static_cast<int>(BatchLearning::kSteps / seconds * 1e-3)) +
                 " thousand steps/s",
         .unit = "GFLOP/s",
         .ours = learning.flops() / seconds * 1e-9,
         .limit = peak * 1e-9,
         .target = 0});
}

}  // namespace
}  // namespace murmurate

int main() {
  using murmurate::AlgorithmNamed;
  murmurate::Measure(AlgorithmNamed("impala"), 1, murmurate::BatchLearning::kSteps);
  murmurate::Measure(AlgorithmNamed("a2c"), 1, murmurate::BatchLearning::kSteps);
  murmurate::Measure(AlgorithmNamed("ppo"), 4, 128);
}
