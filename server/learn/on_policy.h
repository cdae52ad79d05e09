// The on-policy algorithms: what they have in common is all but two choices, which a rule names.
//
//   Prepare    one forward pass under the learner's parameters: V(x_t), pi(a_t|x_t)
//              V-trace with pi/mu -> value targets and advantages (advantages.h)
//   Gradient   of a minibatch: the rule's loss, backward
//
// The importance weight enters once: in the loss's ratio, or in the advantage. With one epoch of
// one minibatch the forward pass of Prepare is that of the gradient, too: a step costs one forward
// and one backward pass.
#pragma once

#include <memory>
#include <vector>

#include "server/learn/algorithm.h"
#include "server/network/policy_loss.h"

namespace murmurate {

struct OnPolicyRule {
  decltype(&ClippedPolicyLoss) loss = nullptr;
  bool weighs_advantage = false;  ///< by min(rho_pg_bar, pi/mu)
};

/// Its row_answers are empty: a batch is learned from once.
std::unique_ptr<Algorithm> MakeOnPolicy(const ModelSpec& spec, const AlgorithmSettings& settings,
                                        const OnPolicyRule& rule);

/// What all of them report, and those that clip, too.
std::vector<AlgorithmMetric> OnPolicyMetrics();
std::vector<AlgorithmMetric> ClippedMetrics();

/// What those that clip no ratio say to `clip` and `target_kl`.
std::vector<KeyRefusal> RefusalsWithoutRatio();

}  // namespace murmurate
