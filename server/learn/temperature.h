// Temperature: the weight alpha of the entropy in soft actor-critic, tuned so that the policy's
// entropy stays near a target (Haarnoja et al. 2018, arXiv 1812.05905, section 5): by gradients of
//   J(log alpha) = -log alpha (log pi + target)
// which an Adam of its own steps, at the rate of the networks. It is no network's parameter: no
// other learner shares it, players do not get it, and it is in checkpoints as the algorithm's state.
#pragma once

#include <array>

#include "shared/model/action_layout.h"
#include "shared/model/state.h"

namespace murmurate {

class Temperature {
 public:
  explicit Temperature(double initial);

  double alpha() const;
  /// `excess`: the mean over an update's steps of log pi + the target entropy. One that is not
  /// finite is left out.
  void Step(double learning_rate, double excess);

  void Save(const StateWriter& writer) const;
  Status Load(const StateReader& reader);

 private:
  double log_alpha_, first_ = 0, second_ = 0;
  double steps_ = 0;
};

/// -1 for each number of the action (Haarnoja et al., appendix D), in nats, where log pi is of
/// numbers in [-1, 1].
double TargetEntropyOfNumbers(const ActionLayout& layout);
/// 0.98 of the most that a variable with so many choices can have (Christodoulou 2019, arXiv
/// 1910.07207, section 4.1).
double TargetEntropyOfChoices(int choices);

}  // namespace murmurate
