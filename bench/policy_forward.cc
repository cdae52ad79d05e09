// What Act pays for the network: Policy::Forward for one observation and for a batch, and
// ChooseAction.
#include "server/measure/policy_forward.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "server/measure/limits.h"
#include "shared/core/random.h"
#include "shared/inference/policy.h"

namespace murmurate {
namespace {

/// `target`: microseconds for one row, a ratio for a batch; 0: none.
void MeasureLogits(const PolicyForwardShape& shape, double target) {
  PolicyForward forward(shape);
  double seconds = 1e9, peak = 0;
  for (int turn = 0; turn < 5; ++turn) {
    peak = std::max(peak, MeasureFmaPeak());
    seconds = std::min(seconds, SecondsPerCall([&] { forward.Call(); }));
  }
  const double flops = forward.flops();
  const bool single = shape.rows == 1;
  const std::string text = std::to_string(shape.observations) + "-" + std::to_string(shape.units) +
                           "-" + std::to_string(shape.units) + "-" + std::to_string(shape.actions);
  Print({.name = "Policy::Forward " + text + ", batch " + std::to_string(shape.rows),
         .unit = single ? "us" : "GFLOP/s",
         .ours = single ? seconds * 1e6 : flops / seconds * 1e-9,
         .limit = single ? flops / peak * 1e6 : peak * 1e-9,
         .target = target,
         .target_is_ratio = !single,
         .smaller_is_better = single});
}

void MeasureChooseAction(int actions, double target) {
  std::vector<float> logits(1024 * static_cast<std::size_t>(actions));
  Random random(1);
  for (float& x : logits) x = static_cast<float>(random.Normal());
  std::size_t row = 0;
  float sink = 0;
  const double seconds = SecondsPerCall([&] {
    const std::span<const float> one(logits.data() + row * actions, actions);
    sink += ChooseAction(one, {}, random).log_prob;
    row = (row + 1) % 1024;
  });
  Print({.name = "ChooseAction, " + std::to_string(actions) + " actions, sampled",
         .unit = "ns",
         .ours = seconds * 1e9 + (sink == 0 ? 1e-9 : 0),
         .target = target,
         .target_is_ratio = false,
         .smaller_is_better = true});
}

}  // namespace
}  // namespace murmurate

int main() {
  using murmurate::MeasureLogits;
  MeasureLogits({4, 64, 2, 1}, 0.2);
  MeasureLogits({4, 64, 2, 8}, 0);
  MeasureLogits({4, 64, 2, 64}, 0.7);
  MeasureLogits({17, 256, 6, 1}, 0);
  MeasureLogits({17, 256, 6, 64}, 0);
  murmurate::MeasureChooseAction(2, 40);
  murmurate::MeasureChooseAction(18, 0);
}
