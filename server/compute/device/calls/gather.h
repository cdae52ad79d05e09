// The calls that put together the rows of a minibatch, on the device, from the columns of a batch
// (server/experience/training_batch.h) and the lists of its passes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/compute/device/calls/control.h"
#include "server/compute/device/calls/elements.h"
#include "server/compute/device/calls/loss.h"
#include "server/compute/device/kernel_list.h"

namespace murmurate {

/// The rows of one pass as they lie in the block of all passes' lists: `rows` of each, and for a
/// recurrent model what each lane begins with. All offsets are bytes from the pass's start.
struct PassLists {
  const std::byte* lists;  ///< of pass 0
  std::size_t pass_bytes;  ///< from one pass to the next
  std::size_t row_at;      ///< int32: of the batch, always one that is there
  std::size_t source_at;   ///< int32: kOwn; kPadding; n > 0: final observation n - 1; n < 0: what
                           ///< followed the trajectory in slot -n - 1
  std::size_t weight_at;   ///< float32: times the batch's own
  std::size_t first_at;    ///< bytes: 1 where an episode begins
  std::size_t state_at;    ///< float32: [lanes][state]
  static constexpr std::int32_t kOwn = 0, kPadding = INT32_MIN;
};

/// The columns of a batch on the device that rows of observations are made of.
struct BatchObservations {
  const std::byte *observation, *next_observation, *final_observation, *frames0;
  const std::uint8_t* flags;
  std::size_t row_bytes;
  int length;  ///< T
  int frames;  ///< of history that come with a trajectory
};

/// One input of all rows of the pass, as numbers that a network's first layer takes:
/// to[row][number]. Frames of a stack lie pixel by pixel, the oldest first. Pixels lie in blocks
/// (server/device/device_input.h). Padding is zeros.
struct InputToGather {
  enum class Form : std::uint8_t {
    kNumbers,     ///< float32 as they are
    kNormalized,  ///< (x - mean) / sqrt(variance + 1e-8), at most 10 away from 0
    kBytes,       ///< worth byte / 255
    kCategories,  ///< int32, one-hot
  };
  const TrainingControl* control;
  PassLists lists;
  BatchObservations batch;
  void* to;
  std::size_t offset_bytes;      ///< of the input in a row
  const float *mean, *variance;  ///< kNormalized: [numbers of one frame]
  const std::int32_t *element,
      *category;        ///< kCategories: [width of one frame], what a number is of
  int rows, width;      ///< width: of all frames together
  int stack, channels;  ///< channels: numbers of one pixel of one frame
  int block, columns;   ///< block 1: pixels lie line by line; columns: pixels of a line
  Form form;
  ElementType type;  ///< of `to`
};

/// What else a loss needs of each row of the pass: [rows] each, actions [rows][words], mask
/// [rows][mask_bytes].
struct RowsToGather {
  const TrainingControl* control;
  PassLists lists;
  // Of the batch.
  const std::int32_t* batch_action;
  const std::uint8_t* batch_mask;
  const float *batch_weight, *batch_log_prob;
  const float *start_log_prob, *advantage, *target;  ///< by row of the batch; null: there are none
  // To.
  std::int32_t *row, *source;  ///< row: -1 for padding
  std::int32_t* action;
  std::uint8_t* mask;
  float *weight, *behaviour, *to_start, *to_advantage, *to_target;
  double* weight_parts;  ///< of each kLossRows rows, the sum of their weights
  int rows, words, mask_bytes;
};

/// Rows and inputs at once, a grid row each: the inputs', then one for `rows`, unless there are none.
/// Grid{.rows = inputs + 1, .threads = kLossRows}, any number of blocks.
struct GatherPassCall {
  static constexpr KernelId kKernel = KernelId::kGatherPass;
  static constexpr int kMostInputs = 8;
  RowsToGather rows;
  int inputs;
  InputToGather input[kMostInputs];
};

/// The lane parts of a pass: where episodes begin, [rows], and states before the first step.
struct GatherLanesCall {
  static constexpr KernelId kKernel = KernelId::kGatherLanes;
  const TrainingControl* control;
  PassLists lists;
  std::uint8_t* first;
  float* state;      ///< null: the state stays as it is
  int rows, states;  ///< states: floats of all lanes
};

}  // namespace murmurate
