// The on-policy algorithms: what they have in common is all but two choices, which a LossForm names.
//
//   Prepare    one forward pass under the learner's parameters: V(x_t), pi(a_t|x_t)
//              V-trace with pi/mu -> value targets and advantages (advantages.h)
//   Gradient   of a minibatch: the form's loss, backward
//
// The importance weight enters once: in the loss's ratio, or in the advantage. With one epoch of
// one minibatch the forward pass of Prepare is that of the gradient, too: a step costs one forward
// and one backward pass.
#pragma once

#include <memory>
#include <vector>

#include "server/learn/algorithm.h"

namespace murmurate {

/// `form`: a policy's. Its row_answers are empty: a batch is learned from once.
std::unique_ptr<Algorithm> MakeOnPolicy(const ModelSpec& spec, const AlgorithmSettings& settings,
                                        const LossForm& form);

/// The form of an algorithm of one pass. Where the batch is one minibatch it is `form`, which is
/// right for the policy that a batch begins with. Of several minibatches the later ones find a
/// policy that has moved, so all have the clipped ratio to the policy that played (as in IMPACT,
/// arXiv 1912.00167).
LossForm FormOfOnePass(const AlgorithmSettings& settings, const LossForm& form);

/// Where the parameters of the value's own layers begin, counted from the block's start.
std::size_t ValueBegin(const ParameterLayout& layout);

std::vector<AlgorithmMetric> OnPolicyMetrics();

/// The refusals of algorithms that make one pass over a batch, and of those that moreover weigh
/// nothing by pi/mu.
std::vector<KeyRefusal> RefusalsOfOnePass();
std::vector<KeyRefusal> RefusalsWithoutWeights();

}  // namespace murmurate
