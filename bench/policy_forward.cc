// What Act pays for the network: Policy::Forward for one observation and for a batch, and
// ChooseAction.
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "bench/limits.h"
#include "server/network/actor_critic.h"
#include "shared/inference/policy.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {
namespace {

struct Case {
  int observations, units, actions, rows;
  double target;  // microseconds for one row, ratio for a batch; 0: none
};

void MeasureLogits(const Case& c) {
  PolicyAndValue spec;
  spec.spaces = {Box({c.observations}), Discrete(c.actions)};
  spec.trunk = {{c.units, Activation::kTanh}, {c.units, Activation::kTanh}};
  const ParameterLayout layout(spec);
  AlignedFloats parameters(layout.total);
  InitializeParameters(spec, 1, parameters);
  Policy policy(spec);
  policy.Pack({parameters.data(), layout.published.count}, {});
  std::vector<float> observations(static_cast<std::size_t>(c.rows) * c.observations);
  Random random(1);
  for (float& x : observations) x = static_cast<float>(random.Normal());
  std::vector<float> logits(static_cast<std::size_t>(c.rows) * c.actions);
  AlignedFloats scratch(policy.ScratchFloats(c.rows));

  const auto call = [&] {
    policy.Forward(observations.data(), c.rows, logits.data(), scratch.data());
  };
  double seconds = 1e9, peak = 0;
  for (int turn = 0; turn < 5; ++turn) {
    peak = std::max(peak, MeasureFmaPeak());
    seconds = std::min(seconds, SecondsPerCall(call));
  }
  const double units = c.units, flops = 2 * units * (c.observations + units + c.actions) * c.rows;
  const bool single = c.rows == 1;
  const std::string shape = std::to_string(c.observations) + "-" + std::to_string(c.units) + "-" +
                            std::to_string(c.units) + "-" + std::to_string(c.actions);
  Print({.name = "Policy::Forward " + shape + ", batch " + std::to_string(c.rows),
         .unit = single ? "us" : "GFLOP/s",
         .ours = single ? seconds * 1e6 : flops / seconds * 1e-9,
         .limit = single ? flops / peak * 1e6 : peak * 1e-9,
         .target = c.target,
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
  MeasureLogits({4, 64, 2, 1, 0.2});
  MeasureLogits({4, 64, 2, 8, 0});
  MeasureLogits({4, 64, 2, 64, 0.7});
  MeasureLogits({17, 256, 6, 1, 0});
  MeasureLogits({17, 256, 6, 64, 0});
  murmurate::MeasureChooseAction(2, 40);
  murmurate::MeasureChooseAction(18, 0);
}
