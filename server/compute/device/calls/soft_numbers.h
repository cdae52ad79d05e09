// The calls of soft actor-critic for actions of numbers: server/learn/sac.cc, squashed_numbers.h,
// twin_critics.h and temperature.h on a device. Passes and lists are those of calls/replay.h, and one
// list more: the noise that actions are drawn with.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/compute/device/calls/replay.h"

namespace murmurate {

/// The temperature (server/learn/temperature.h), which an Adam of its own steps.
struct SoftState {
  double log_alpha, first, second, steps;
};

/// Actions of all rows that a pass's networks see, drawn from the policy's outputs for them; and those
/// that were recorded at the steps, as critics read them. One thread a row of 2 x rows.
struct DrawNumbersCall {
  static constexpr KernelId kKernel = KernelId::kDrawNumbers;
  const TrainingControl* control;
  ReplayLists lists;
  std::size_t noise_at;  ///< float32: [2 rows][numbers], bytes from the pass's start
  HeadTable head;        ///< of numbers alone, whose deviations the policy gives
  int rows;
  const float* outputs;  ///< [2 rows][outputs]
  float* action;         ///< [2 rows][numbers] drawn, in (-1, 1)
  float* spread;         ///< [2 rows][numbers] deviation times noise
  double* log_prob;      ///< [2 rows]
  float* recorded;       ///< [rows][numbers]
};

/// The squared errors of both critics, and the gradients by their values.
/// Grid::For(rows, kLossRows).
struct CriticLossCall {
  static constexpr KernelId kKernel = KernelId::kCriticLoss;
  const TrainingControl* control;
  ReplayLists lists;
  const SoftState* state;
  int rows;
  const float* target_q[2];  ///< [rows] where returns end
  const double* log_prob;    ///< [2 rows]
  const float* q[2];         ///< [rows]
  float* d_q[2];             ///< [rows]
  float* distance;           ///< [passes][rows]
  double* parts;             ///< [blocks][kReplaySums]
};

/// What actions drawn at the steps are worth, and the gradient of -min q by both critics' values.
/// Grid::For(rows, kLossRows).
struct PolicyValueCall {
  static constexpr KernelId kKernel = KernelId::kPolicyValue;
  static constexpr int kSums = 2;  ///< log pi, min q
  const TrainingControl* control;
  ReplayLists lists;
  int rows;
  const double* log_prob;  ///< [2 rows]
  const float* q[2];       ///< [rows]
  float* d_q[2];           ///< [rows]
  double* parts;           ///< [blocks][kSums]
};

/// The gradient of mean(alpha log pi - min q) by the policy's outputs at the steps. One thread a row.
struct NumbersGradientCall {
  static constexpr KernelId kKernel = KernelId::kNumbersGradient;
  const TrainingControl* control;
  ReplayLists lists;
  const SoftState* state;
  HeadTable head;
  int rows;
  const float* outputs;       ///< [2 rows][outputs]
  const float* action;        ///< [2 rows][numbers]
  const float* spread;        ///< [2 rows][numbers]
  const float* d_actions[2];  ///< [rows][numbers] of each critic
  float* d_outputs;           ///< [rows][outputs]
};

/// Adds up the parts of both losses and steps the temperature, where the pass `counts`, and ends the
/// pass: one block. The places of sums are those of server/learn/replay_algorithm.h.
struct FinishSoftCall {
  static constexpr KernelId kKernel = KernelId::kFinishSoft;
  TrainingControl* control;
  ReplayLists lists;
  SoftState* state;
  double target_entropy;
  const double* critic_parts;  ///< [blocks][kReplaySums]
  const double* policy_parts;  ///< [blocks][PolicyValueCall::kSums]
  int blocks;
  bool counts;
};

}  // namespace murmurate
