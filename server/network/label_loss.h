// LabelLoss: how far a policy's head is from actions that are known to be right: labels of samples,
// or recorded actions to be cloned. No value, no return, no advantage.
#pragma once

#include "server/network/action_head_rows.h"
#include "shared/core/aligned_floats.h"

namespace murmurate {

/// Weighted sums over the rows of one minibatch: divide by `weight` for means over rows; `right` by
/// `choices` for the accuracy, `distance` by `numbers` for the mean absolute error.
struct LabelLossSums {
  double weight = 0, loss = 0;
  double choices = 0, right = 0;  ///< choices and switches; whose likeliest value is the label
  /// |mean - label| of samples, which are before scaling and squashing.
  double numbers = 0, distance = 0;

  void Add(const LabelLossSums& more);
  double mean_loss() const { return weight > 0 ? loss / weight : 0.0; }
};

class LabelLoss {
 public:
  /// Numbers says what numbers (continuous parts) cost.
  enum class Numbers : std::uint8_t {
    kSquaredError,  ///< (mean - label)^2, the mean over a part's numbers; no deviation learns
    kLikelihood,    ///< -log of the Gaussian's density; deviations learn, too
  };
  /// With kSquaredError a number whose label is NaN is not known: it costs nothing and gets no
  /// gradient, while the mean is still over all numbers of the part.
  LabelLoss(const ActionLayout& layout, Numbers numbers, int max_rows);

  /// L = 1/W sum_i w_i l_i, W = sum_i w_i, l_i = the sum over the parts of an action of
  ///   choices, switches   -log pi(label): the cross-entropy
  ///   numbers             as above
  /// Writes dL/d outputs [rows][outputs] and, when there are free deviations, dL/d log_deviations;
  /// null d_outputs: the sums alone. Rows of weight 0 add nothing, and get zeros whatever they
  /// hold.
  LabelLossSums Evaluate(const ActionRows& rows, const float* weight, float* d_outputs,
                         float* d_log_deviations);

 private:
  void CountChoices(const ActionPart& part, const ActionRows& rows, int row, double weight,
                    LabelLossSums* sums) const;
  void AddNumbers(const ActionPart& part, const ActionRows& rows, int row, double weight,
                  double scale, LabelLossSums* sums, float* d_outputs) const;

  const ActionLayout layout_;
  const Numbers numbers_;
  const ActionHeadRows head_;
  AlignedFloats log_prob_, d_log_prob_, d_entropy_;
};

}  // namespace murmurate
