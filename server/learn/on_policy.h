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

#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

#include "server/learn/algorithm.h"
#include "server/network/policy_loss.h"

namespace murmurate {

struct OnPolicyRule {
  std::function<std::remove_pointer_t<decltype(&ClippedPolicyLoss)>> loss;
  bool weighs_advantage = false;  ///< by min(rho_pg_bar, pi/mu)
};

/// Its row_answers are empty: a batch is learned from once.
std::unique_ptr<Algorithm> MakeOnPolicy(const ModelSpec& spec, const AlgorithmSettings& settings,
                                        const OnPolicyRule& rule);

/// The metrics that all of them report, and those of algorithms that clip, too.
std::vector<AlgorithmMetric> OnPolicyMetrics();
std::vector<AlgorithmMetric> ClippedMetrics();

/// The refusals of `clip`, `dual_clip` and `adaptive_kl` by algorithms with one step per batch.
std::vector<KeyRefusal> RefusalsWithoutRatio();
/// Those, and of more than one pass and of V-trace, by algorithms that weigh nothing by pi/mu.
std::vector<KeyRefusal> RefusalsOfOnePass();

}  // namespace murmurate
