// PPO (Schulman et al. 2017, arXiv 1707.06347), made for late experience: several epochs of
// minibatches of
//   -min(r A, clip(r) A), r = pi_theta / mu
// with A from V-trace, without its rho (the ratio weighs already), normalized over the batch.
// Keys that are not set have what the table of keys says, which is written for this one.
#include "server/learn/on_policy.h"

namespace murmurate {

const AlgorithmKind& Ppo() {
  static const AlgorithmKind kKind{
      .name = "ppo",
      .many_updates = true,
      .clips_ratio = true,
      .metrics = OnPolicyMetrics(),
      .make = [](const ModelSpec& spec,
                 const AlgorithmSettings& settings) { return MakeOnPolicy(spec, settings, {}); },
      .loss = [](const AlgorithmSettings&) { return LossForm(); }};
  return kKind;
}

}  // namespace murmurate
