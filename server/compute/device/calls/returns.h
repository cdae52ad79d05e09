// The calls of returns: server/learn/advantages.h and returns.h on a device.
#pragma once

#include <cstdint>

#include "server/compute/device/calls/control.h"
#include "server/compute/device/kernel_list.h"

namespace murmurate {

/// Of a step's flags: shared/trajectory/trajectory.h's StepFlags.
inline constexpr std::uint8_t kStepTerminated = 2, kStepTruncated = 4;

/// How much of a plan's arrays is in use; they have room for the largest batch.
struct DevicePlanCounts {
  std::uint32_t slots, rows;
};

/// The part of a BatchPlan that a device reads besides its updates.
struct DevicePlan {
  const DevicePlanCounts* counts;
  const std::int32_t* slots;  ///< trajectories
  const std::int32_t* steps;  ///< of slots[i]
  const std::int32_t* rows;   ///< to learn from
  int most_slots, most_rows;
};

/// Numbers by row of the batch.
struct ReturnColumns {
  float *value, *next_value;
  float* log_ratio;       ///< log pi/mu
  float* start_log_prob;  ///< under the parameters that the batch began with
  float *target, *advantage;
};

/// Puts what the network gave for rows that it saw where the rows of the batch are.
struct RecordRowsCall {
  static constexpr KernelId kKernel = KernelId::kRecordRows;
  ReturnColumns columns;
  const std::int32_t* row;     ///< of the batch; -1: padding
  const std::int32_t* source;  ///< 0: the row itself, else what followed it
  const float* values;
  const float* log_prob;
  const float* behaviour;  ///< by row of the batch
  const float* deviation;  ///< null: the policy has none
  int rows;
  double* parts;  ///< [blocks][2] deviations, rows
};

/// Adds parts to sums[first] and the next one: one block.
struct FinishRecordCall {
  static constexpr KernelId kKernel = KernelId::kFinishRecord;
  TrainingControl* control;
  const double* parts;
  int blocks, first;
};

/// What value targets and advantages are made of.
struct ReturnsToTrace {
  DevicePlan plan;
  ReturnColumns columns;
  const float* reward;
  const std::uint8_t* flags;
  int length;  ///< T
  double gamma, lambda, rho_bar, c_bar, rho_pg_bar;
  bool corrects;  ///< by pi/mu, which else counts as 1
  bool weighs;    ///< the advantage, by min(rho_pg_bar, pi/mu)
};

/// Value targets and advantages; one thread a trajectory, from its last step to its first.
struct TraceReturnsCall {
  static constexpr KernelId kKernel = KernelId::kTraceReturns;
  ReturnsToTrace of;
};

/// The same, a block of kScanThreads a trajectory: a step makes v_s - V(x_s) of that of the next step
/// by an affine map; threads compose those of a run of steps each, and then the runs', in a fixed order.
struct ScanReturnsCall {
  static constexpr KernelId kKernel = KernelId::kScanReturns;
  ReturnsToTrace of;
};
inline constexpr std::uint32_t kScanThreads = 256;

/// Places in TrainingControl::sums.
struct ReturnSums {
  int explained_variance, lag_kl, clip, rows, effective, truncated, corrected_rows;
  int target, target_spread, advantage, advantage_spread;
};

/// What three kernels of the same grid hand on to find the statistics of a batch's rows.
struct ReturnParts {
  static constexpr int kMeans = 7, kSpreads = 3;
  double* means;    ///< [blocks][kMeans] sums
  double* spreads;  ///< [blocks][kSpreads] sums of squared distances from a mean
};

/// parts.means <- sums over the plan's rows.
struct MeasureRowsCall {
  static constexpr KernelId kKernel = KernelId::kMeasureRows;
  DevicePlan plan;
  ReturnColumns columns;
  double rho_bar;
  ReturnParts parts;
};

/// parts.spreads <- squared distances from the means.
struct MeasureSpreadCall {
  static constexpr KernelId kKernel = KernelId::kMeasureSpread;
  DevicePlan plan;
  ReturnColumns columns;
  ReturnParts parts;
};

/// Statistics into the control's sums; advantages normalized where that is wanted.
struct NormalizeAdvantagesCall {
  static constexpr KernelId kKernel = KernelId::kNormalizeAdvantages;
  TrainingControl* control;
  DevicePlan plan;
  ReturnColumns columns;
  ReturnParts parts;
  ReturnSums sums;
  bool normalizes, corrects;
};

/// How far the policy is from the one that the batch began with, over rows that the network saw.
struct MeasureChangeCall {
  static constexpr KernelId kKernel = KernelId::kMeasureChange;
  const std::int32_t *row, *source;
  const float* log_prob;
  const float* start_log_prob;  ///< by row of the batch
  int rows;
  double* parts;  ///< [blocks]
};

/// control->change += the parts; control->kl <- its mean over the plan's rows: one block.
struct FinishChangeCall {
  static constexpr KernelId kKernel = KernelId::kFinishChange;
  TrainingControl* control;
  const DevicePlanCounts* counts;
  const double* parts;
  int blocks, weight_sum, kl_sum;  ///< places of TrainingControl::sums
};

}  // namespace murmurate
