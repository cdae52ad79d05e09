// DeviceReturns: server/learn/advantages.h on a device: what is known of every row of a batch once
// the network has seen it under the parameters that the batch began with.
//
//   EnqueueClear    once
//   EnqueueRecord   for each part of the rows that the network saw
//   EnqueueCompute  targets, advantages, statistics into control->sums (OnPolicy's)
//   EnqueueChange   for each part of the rows that the network saw again: control->kl
#pragma once

#include "server/compute/device/calls/returns.h"
#include "server/compute/device/device.h"
#include "server/compute/device/device_memory.h"
#include "server/learn/algorithm_settings.h"

namespace murmurate {

/// Rows that the network saw, with what it gave for them; every pointer has `rows` numbers on the
/// device.
struct DeviceSeenRows {
  int rows = 0;
  const std::int32_t* row = nullptr;     ///< of the batch; -1: padding
  const std::int32_t* source = nullptr;  ///< 0: the row itself, else what followed it
  const float* values = nullptr;
  const float* log_prob = nullptr;
  const float* deviation = nullptr;  ///< of DeviceHead::Evaluate; null: the policy has none
};

/// Columns of a batch on the device that returns are made of.
struct DeviceReturnBatch {
  int length = 0;                       ///< T
  const float* reward = nullptr;        ///< [batch rows], scaled
  const std::uint8_t* flags = nullptr;  ///< [batch rows] of steps
};

/// Whether the steps of a trajectory are shared out among the threads of a block (ScanReturns), and
/// not each trajectory gone through by one thread: where counting says that it saves a launch's 2 us
/// or more. It takes long trajectories, and few of them.
bool ScansReturns(int length, int trajectories);

class DeviceReturns {
 public:
  /// `weighs_advantage`: as LossForm has it. `max_seen`: rows of a DeviceSeenRows at most.
  DeviceReturns(const AlgorithmSettings& settings, bool weighs_advantage, int max_seen,
                DeviceMemory* memory);

  /// Before the first batch: rows that are not recorded count as 0.
  void EnqueueClear(Device* device, Stream stream) const;
  /// Also counts the deviations of rows themselves.
  void EnqueueRecord(Device* device, Stream stream, const DeviceSeenRows& seen,
                     const float* behaviour_log_prob, TrainingControl* control) const;
  /// Nothing changes where the plan has no rows.
  void EnqueueCompute(Device* device, Stream stream, const DevicePlan& plan,
                      const DeviceReturnBatch& batch, TrainingControl* control) const;
  /// OnPolicy::MeasureChange; values are not read. control->change must be 0 before the first part.
  void EnqueueChange(Device* device, Stream stream, const DeviceSeenRows& seen,
                     const DevicePlanCounts* counts, TrainingControl* control) const;

  // By row of the batch, [settings.batch_steps], on the device.
  const float* target() const { return target_.data(); }
  const float* advantage() const { return advantage_.data(); }
  const float* start_log_prob() const { return start_log_prob_.data(); }

 private:
  void EnqueueTrace(Device* device, Stream stream, const ReturnsToTrace& returns) const;
  ReturnColumns columns() const;
  ReturnParts parts() const { return {means_.data(), spreads_.data()}; }

  const AlgorithmSettings settings_;
  const bool weighs_advantage_;
  DeviceArray<float> value_, next_value_, log_ratio_, start_log_prob_, target_, advantage_;
  DeviceArray<double> means_, spreads_, seen_parts_;
};

}  // namespace murmurate
