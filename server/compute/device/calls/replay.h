// The calls of algorithms that learn from a replay: server/learn/dqn.cc and
// server/network/target_networks.h on a device. A pass has the steps of one update, `rows` of them
// with a place each: rows [0, rows) of what the networks see are those steps, rows [rows, 2 rows) where
// their returns end.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/compute/device/calls/gather.h"
#include "server/compute/device/calls/head.h"
#include "server/compute/device/calls/loss.h"
#include "server/compute/device/kernel_list.h"

namespace murmurate {

/// What a pass begins with.
struct ReplayHead {
  std::int32_t steps;  ///< of the pass's rows; the rest are padding
  float target_part;   ///< how far targets move after the pass; 0: they do not
};

/// The lists of passes over steps from a replay. Offsets are bytes from the pass's start; each list has
/// an entry for each of a pass's rows.
struct ReplayLists {
  PassLists rows;           ///< of what the networks see, 2 x rows of them
  std::size_t head_at;      ///< ReplayHead
  std::size_t action_at;    ///< int32: [words]
  std::size_t mask_at;      ///< bytes: [mask bytes] where the return ends, 1 where all is allowed
  std::size_t reward_at;    ///< float32: what the return has without a value
  std::size_t discount_at;  ///< float32: what the value there counts; 0: nothing comes after it
  std::size_t weight_at;    ///< float32: of the step's loss
};

/// Copies rows of a replay, which are named by words (server/experience/kept_rows.h), to where the
/// inputs of networks are put together from: to[rows][words]; kZeros gives zeros. Any number of
/// threads.
struct CopyKeptRowsCall {
  static constexpr KernelId kKernel = KernelId::kCopyKeptRows;
  static constexpr std::uint32_t kZeros = 0;
  const std::uint32_t* names;  ///< [rows]: 1 + the place in `kept`
  const std::uint32_t* kept;   ///< [places][words]
  std::uint32_t* to;
  std::size_t rows;
  int words;  ///< of a row of observations
};

/// Sums that a loss over replayed steps counts: the first ones of TrainingControl::sums, in the order of
/// server/learn/replay_algorithm.h.
inline constexpr int kReplaySums = 4;

/// The loss of a network that gives a value for each choice, and its gradient by the outputs, as
/// server/learn/dqn.cc says it: Huber's, of the distance from r + discount target_q(best choice).
/// Grid::For(rows, kLossRows).
struct ChoiceLossCall {
  static constexpr KernelId kKernel = KernelId::kChoiceLoss;
  const TrainingControl* control;
  ReplayLists lists;
  HeadTable head;
  int rows;
  bool double_q;          ///< the best choice is q's; else target_q's
  const float* q;         ///< [2 rows][outputs], with double_q; else [rows][outputs]
  const float* target_q;  ///< [rows][outputs] where returns end
  float* d_q;             ///< [rows][outputs]
  float* distance;        ///< [passes][rows]: of the present pass's steps, |q - target|
  double* parts;          ///< [blocks][kReplaySums]
};

/// Adds up the parts of a loss, where its pass `counts`, and ends the pass: one block.
struct FinishReplayCall {
  static constexpr KernelId kKernel = KernelId::kFinishReplay;
  TrainingControl* control;
  const double* parts;
  int blocks;
  bool counts;
};

/// A tensor: where it lies in what is followed, and in what follows.
struct TargetTensor {
  std::size_t from, to, count;  ///< floats from the start of the parameters
};

/// Moves targets towards what they follow as the pass that has just ended says, unless its gradient was
/// not finite. Any number of threads.
struct MoveTargetsCall {
  static constexpr KernelId kKernel = KernelId::kMoveTargets;
  const TrainingControl* control;
  ReplayLists lists;
  const TargetTensor* tensors;
  int count;
  float* parameters;
};

}  // namespace murmurate
