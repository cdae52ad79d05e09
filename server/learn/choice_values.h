// ChoiceValues: the outputs of a network that gives a value for each choice of each discrete
// variable of an action (a Q network). Several variables are branches: each has values of its own,
// and the value of an action is the mean over its variables (Tavakoli et al. 2018, arXiv
// 1711.08946).
#pragma once

#include <cstdint>
#include <vector>

#include "shared/model/action_layout.h"

namespace murmurate {

class ChoiceValues {
 public:
  /// Every variable of the action must be discrete (HasChoicesOnly).
  explicit ChoiceValues(const ActionLayout& layout);

  static bool HasChoicesOnly(const ActionLayout& layout);

  struct Variable {
    int first = 0;  ///< of its outputs, and of its bytes in a mask
    int choices = 0;
  };

  int variables() const { return static_cast<int>(variables_.size()); }
  const Variable& variable(int i) const { return variables_[static_cast<std::size_t>(i)]; }
  /// The output that stands for the choice made of a variable.
  std::size_t OutputOf(int variable, const std::int32_t* action) const {
    return static_cast<std::size_t>(variables_[variable].first + action[variable]);
  }

  /// The mean over the variables of `values` at the choice that is best by `by`, among those that
  /// `mask` allows (null: all): both [outputs] of one row, values `stride` apart.
  double ValueOfBest(const float* by, const float* values, const std::uint8_t* mask,
                     std::size_t stride = 1) const;

 private:
  std::vector<Variable> variables_;
};

}  // namespace murmurate
