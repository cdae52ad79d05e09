// A2C (Mnih et al. 2016, arXiv 1602.01783): one pass over fresh experience,
//   -A log pi_theta, A = GAE: every pi/mu counts as 1, since it refuses staleness = "vtrace"
#include "server/learn/on_policy.h"

namespace murmurate {
const AlgorithmKind& A2c() {
  static const AlgorithmKind kKind{
      .name = "a2c",
      .defaults = {{"algorithm", "trajectory_length", std::int64_t{32}},
                   {"algorithm", "batch_steps", std::int64_t{256}},
                   {"algorithm", "minibatch", {}},
                   {"algorithm", "epochs", std::int64_t{1}},
                   {"algorithm", "clip", {}},
                   {"algorithm", "max_staleness", std::int64_t{0}},
                   {"algorithm", "staleness", std::string("block")},
                   {"optimizer", "learning_rate", 1e-3},
                   {"optimizer", "value_rate_factor", 5.0}},
      .refusals = RefusalsOfOnePass(),
      .metrics = OnPolicyMetrics(),
      .make = [](const ModelSpec& spec, const AlgorithmSettings& settings) {
        return MakeOnPolicy(spec, settings, {.loss = PolicyGradientLoss});
      }};
  return kKind;
}

}  // namespace murmurate
