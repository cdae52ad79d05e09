// SquashedNumbers: actions drawn from squashed Gaussians so that the gradient of a loss over them
// goes back to the policy (Haarnoja et al. 2018, arXiv 1812.05905, appendix C):
//
//   u = mean + exp(log deviation) noise,   a = tanh(u) in (-1, 1)
//   log pi(a) = sum of  log N(u; mean, deviation) - log(1 - a^2)
//
// where the log deviation is held within [-20, 2] (action_head.h) and has no gradient outside. The
// scale of a game's box is left out of log pi, as the target entropy assumes (temperature.h).
#pragma once

#include <cstdint>
#include <vector>

#include "shared/core/aligned_floats.h"
#include "shared/core/random.h"
#include "shared/model/action_layout.h"

namespace murmurate {

class SquashedNumbers {
 public:
  /// The actions are numbers alone, squashed, with deviations that depend on the state.
  SquashedNumbers(const ActionLayout& layout, int max_rows);

  static bool Fits(const ActionLayout& layout);

  std::size_t count() const { return numbers_.size(); }  ///< numbers of an action

  /// Draws an action for each row of a policy's outputs, row by row.
  void Draw(const float* outputs, int rows, Random& random);
  const float* actions() const {
    return action_.data();
  }  ///< [rows][count()], as critics read them
  double log_prob(std::size_t row) const { return log_prob_[row]; }

  /// Writes the gradient by the outputs that were drawn from, [rows][layout.outputs()], of a loss
  /// whose gradient by the actions is d_actions [rows][count()] and by each log_prob d_log_prob.
  void Gradient(const float* d_actions, float d_log_prob, float* d_outputs) const;

  /// Writes recorded actions (samples u) as critics read them: [rows][count()].
  void Encode(const std::int32_t* recorded, int rows, float* actions) const;

 private:
  struct Number {
    int mean = 0, log_deviation = 0;  ///< outputs
  };

  std::vector<Number> numbers_;
  const std::size_t outputs_;
  int rows_ = 0;  ///< of the last Draw
  AlignedFloats action_;
  AlignedFloats spread_;  ///< [rows][count()]: deviation times noise
  AlignedFloats free_;    ///< [rows][count()]: 1, or 0 where the deviation is held
  std::vector<double> log_prob_;
};

}  // namespace murmurate
