// What one update from a replay costs (server/measure/replay_updates.h), against one core's peak of
// fused multiply-adds over the products counted. By the processor time of this thread, the shortest
// of many rounds.
//   build/release/bench/bench_updates [rounds]
#include <algorithm>
#include <cstdlib>
#include <string>

#include "server/measure/limits.h"
#include "server/measure/replay_updates.h"
#include "server/metrics/number_text.h"

namespace murmurate {
namespace {

void Measure(const std::string& name, ReplayUpdates& updates, int rounds, double target_us) {
  const double made = static_cast<double>(updates.Make());
  double seconds = 1e9, peak = 0;
  for (int turn = 0; turn < 5; ++turn) {
    peak = std::max(peak, MeasureFmaPeak());
    seconds = std::min(seconds, SecondsPerCall([&] { (void)updates.Make(); }, rounds) / made);
  }
  const double flops = updates.flops();
  const std::string of = name + ", " + FormatNumber("%.1f", flops * 1e-6) + " M operations";
  Print({.name = of + ", one update",
         .unit = "us",
         .ours = seconds * 1e6,
         .target = target_us,
         .target_is_ratio = false,
         .smaller_is_better = true});
  Print({.name = of,
         .unit = "GFLOP/s",
         .ours = flops / seconds * 1e-9,
         .limit = peak * 1e-9,
         .target = target_us > 0 ? 0 : 0.7});
}

void Run(int rounds) {
  Measure("dqn 4-64-64-2, minibatch 64", *ReplayUpdates::OfDqn(), rounds, 45);
  Measure("sac 17-256-256, 6 numbers, minibatch 256", *ReplayUpdates::OfSac(), rounds, 0);
}

}  // namespace
}  // namespace murmurate

int main(int count, char** arguments) { murmurate::Run(count > 1 ? std::atoi(arguments[1]) : 40); }
