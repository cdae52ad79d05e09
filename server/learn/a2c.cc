// A2C (Mnih et al. 2016, arXiv 1602.01783): one pass over fresh experience,
//   -A log pi_theta, A = GAE: every pi/mu counts as 1, since it refuses staleness = "vtrace"
// where the batch is one minibatch; of several see FormOfOnePass.
#include "server/learn/on_policy.h"

namespace murmurate {
namespace {

LossForm Form(const AlgorithmSettings& settings) {
  return FormOfOnePass(settings, {.kind = LossForm::Kind::kPolicyGradient});
}

}  // namespace

const AlgorithmKind& A2c() {
  static const AlgorithmKind kKind{
      .name = "a2c",
      .clips_ratio = true,
      .defaults = {{"algorithm", "trajectory_length", std::int64_t{32}},
                   {"algorithm", "batch_steps", std::int64_t{1024}},
                   {"algorithm", "minibatch", std::int64_t{128}},
                   {"algorithm", "epochs", std::int64_t{1}},
                   {"algorithm", "max_staleness", std::int64_t{0}},
                   {"algorithm", "staleness", std::string("block")},
                   {"optimizer", "learning_rate", 1e-3},
                   {"optimizer", "value_rate_factor", 5.0}},
      .refusals = RefusalsWithoutWeights(),
      .metrics = OnPolicyMetrics(),
      .make =
          [](const ModelSpec& spec, const AlgorithmSettings& settings) {
            return MakeOnPolicy(spec, settings, Form(settings));
          },
      .loss = Form};
  return kKind;
}

}  // namespace murmurate
