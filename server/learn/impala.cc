// IMPALA (Espeholt et al. 2018, arXiv 1802.01561): one pass over the batch, V-trace in targets and
// policy gradient,
//   -A log pi_theta, A times min(rho_pg_bar, pi/mu) as the batch begins
// where the batch is one minibatch; of several see FormOfOnePass.
//
// Published constants are for losses summed over the batch; ours are means
// (server/network/policy_loss.h converts them), so the clip is a length for means.
#include "server/learn/on_policy.h"

namespace murmurate {
namespace {

LossForm Form(const AlgorithmSettings& settings) {
  return FormOfOnePass(settings,
                       {.kind = LossForm::Kind::kPolicyGradient, .weighs_advantage = true});
}

}  // namespace

const AlgorithmKind& Impala() {
  static const AlgorithmKind kKind{
      .name = "impala",
      .clips_ratio = true,
      .weighs_gradient = true,
      .defaults = {{"algorithm", "trajectory_length", std::int64_t{32}},
                   {"algorithm", "batch_steps", std::int64_t{1024}},
                   {"algorithm", "minibatch", std::int64_t{128}},
                   {"algorithm", "epochs", std::int64_t{1}},
                   {"algorithm", "entropy", 0.003},
                   {"optimizer", "learning_rate", 1e-3},
                   {"optimizer", "value_rate_factor", 5.0}},
      .refusals = RefusalsOfOnePass(),
      .metrics = OnPolicyMetrics(),
      .make =
          [](const ModelSpec& spec, const AlgorithmSettings& settings) {
            return MakeOnPolicy(spec, settings, Form(settings));
          },
      .loss = Form};
  return kKind;
}

}  // namespace murmurate
