// ActionHeadRows: log-probability and entropy of recorded actions of any space, for whole batches,
// and their gradients: the learner's half of a policy's head (action_head.h says what the
// distributions are, and is the client's half).
//
// The entropy of a squashed part is its Gaussian's before squashing: the squashed one has no closed
// form, its one-sample estimate -log pi is noisy, and the Gaussian's gradient is exact (1 for each
// log deviation). It does not see saturation: a bonus on it can widen a deviation up to its clamp.
//
// Where a log deviation lies outside [-20, 2] it counts as the nearer end and gets no gradient. A
// distance from the mean counts as at most 1e9 deviations. A recorded choice that its mask forbids
// has kForbiddenLogProbability. Nothing here makes a NaN from finite numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "shared/model/action_layout.h"

namespace murmurate {

struct ActionKernels;

/// ActionRows is what a batch holds for its actions; row-major.
struct ActionRows {
  int rows = 0;
  const float* outputs = nullptr;         ///< [rows][layout.outputs()]
  const float* log_deviations = nullptr;  ///< [layout.free_deviations()], null when there are none
  const std::int32_t* actions = nullptr;  ///< [rows][layout.words()]
  const std::uint8_t* mask = nullptr;     ///< [rows][layout.mask_bytes()]; null allows everything
};

/// One variable of an action: where its numbers lie in a row. Plain, for the kernels.
struct ActionColumn {
  ActionPart::Kind kind = ActionPart::Kind::kDiscrete;
  bool squashed = false;
  int choices = 0;    ///< kDiscrete
  int word = 0;       ///< of the recorded action
  int output = 0;     ///< its first logit, its logit or its mean
  int deviation = 0;  ///< kContinuous: among the outputs, or among the free ones
  bool free_deviation = false;
  int mask_byte = 0;   ///< kDiscrete
  int part_count = 0;  ///< variables of its part
};

/// The variables of an action, in the order of its parts.
std::vector<ActionColumn> ActionColumns(const ActionLayout& layout);

/// Immutable: any number of threads may use one at once. Nothing allocates after construction.
class ActionHeadRows {
 public:
  /// Parts are what counts of an action; outputs of other parts get no gradient, not even zeros.
  enum class Parts : std::uint8_t { kAll, kChoicesAndSwitches };
  /// `kernels`: null for the best that this processor runs (tests name one). A deterministic
  /// policy's numbers have no distribution: of its layout only kChoicesAndSwitches.
  explicit ActionHeadRows(const ActionLayout& layout, const ActionKernels* kernels = nullptr,
                          Parts parts = Parts::kAll);

  /// Writes log_prob [rows] and, unless null, entropy [rows].
  void Evaluate(const ActionRows& rows, float* log_prob, float* entropy) const;

  /// Given dL/dlog_prob and dL/dentropy [rows] of a scalar loss, overwrites d_outputs
  /// [rows][layout.outputs()] and, when there are free deviations, d_log_deviations (the sum over
  /// the rows). A row whose two gradients are 0 gets zeros whatever it holds.
  void Gradient(const ActionRows& rows, const float* d_log_prob, const float* d_entropy,
                float* d_outputs, float* d_log_deviations) const;

  /// Whether some part is continuous.
  bool has_deviations() const { return deviations_ > 0; }
  /// The mean standard deviation of the continuous numbers of a row, of which there are some; in
  /// the policy's units, before squashing or scaling.
  double MeanDeviation(const ActionRows& rows, int row) const;

 private:
  std::vector<ActionColumn> columns_;
  int deviations_ = 0;
  int words_, outputs_, mask_bytes_, free_deviations_;
  const ActionKernels* kernels_;
};

}  // namespace murmurate
