// The calls of a policy's head: server/network/action_head_rows.h on a device.
#pragma once

#include <cstdint>

#include "server/compute/device/calls/control.h"
#include "server/compute/device/kernel_list.h"

namespace murmurate {

/// One variable of an action: where its numbers lie in a row.
struct HeadColumn {
  enum class Kind : std::uint8_t { kDiscrete, kBinary, kContinuous } kind;
  bool squashed, free_deviation;
  int choices;     ///< kDiscrete
  int word;        ///< of the recorded action
  int output;      ///< its first logit, its logit or its mean
  int deviation;   ///< kContinuous: among the outputs, or among the free ones
  int mask_byte;   ///< kDiscrete
  int part_count;  ///< variables of its part of the action
};

/// All variables of an action.
struct HeadTable {
  const HeadColumn* columns;
  int column_count, words, outputs, mask_bytes, free_deviations, deviations;
};

/// The numbers of a batch that the head reads, row-major.
struct HeadRows {
  const float* outputs;         ///< [rows][outputs]
  const float* log_deviations;  ///< [free_deviations]; null: there are none
  const std::int32_t* actions;  ///< [rows][words]
  const std::uint8_t* mask;     ///< [rows][mask_bytes], 1 where nothing is masked
};

/// Log-probability and entropy of the recorded actions; one thread a row.
struct EvaluateHeadCall {
  static constexpr KernelId kKernel = KernelId::kEvaluateHead;
  HeadTable head;
  HeadRows batch;
  int rows;
  float* log_prob;           ///< [rows]
  float* entropy;            ///< [rows]; null: not wanted
  float* deviation;          ///< [rows] the mean over the continuous numbers; null: not wanted
  TrainingControl* control;  ///< whose pass ends; null: none does
};

}  // namespace murmurate
