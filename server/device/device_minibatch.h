// DeviceMinibatch: the rows of one update, as pointers to memory of a device.
#pragma once

#include <cstdint>

namespace murmurate {

/// Padding rows weigh 0 and may hold anything.
struct DeviceMinibatch {
  int rows = 0;
  const std::int32_t* actions = nullptr;  ///< [rows][words]
  const std::uint8_t* mask = nullptr;     ///< [rows][mask bytes], 1 where nothing is masked
  /// Sums of the weights of kLossRows rows each (calls/loss.h).
  const double* weight_parts = nullptr;
  const float* weight = nullptr;  ///< [rows], as all that follow
  const float* behaviour_log_prob = nullptr;
  const float* start_log_prob = nullptr;
  const float* advantage = nullptr;
  const float* value_target = nullptr;
  const float* outputs = nullptr;         ///< [rows][outputs] of the policy's head
  const float* values = nullptr;          ///< [rows]
  const float* log_deviations = nullptr;  ///< [free deviations]; null: there are none
  float* d_outputs = nullptr;             ///< [rows][outputs]
  float* d_values = nullptr;              ///< [rows]; null where no network gives a value
  float* d_log_deviations = nullptr;      ///< [free deviations]; null: there are none
};

}  // namespace murmurate
