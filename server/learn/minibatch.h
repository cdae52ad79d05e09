// Minibatch: rows of a batch put together for a network: observations as the model sees them
// (frames stacked), actions, masks and weights, each contiguous.
//
// Before an episode's first step a stack holds zeros, as it does in the client; before a
// trajectory's first step, what came with the trajectory (frames0).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "server/experience/training_batch.h"
#include "server/learn/lanes.h"
#include "server/network/action_head_rows.h"
#include "shared/core/aligned_floats.h"
#include "shared/trajectory/frame_stack.h"

namespace murmurate {

class Minibatch {
 public:
  /// Nothing is allocated later.
  Minibatch(const ModelSpec& spec, int max_rows);

  /// A batch has the columns that the model was made for.
  bool Fits(const TrainingBatch& batch) const;

  /// Padding stands for row `padding` of the batch and weighs nothing, as successors do.
  void Gather(const TrainingBatch& batch, std::span<const SeenRow> rows, std::int32_t padding);
  /// The rows gathered, of another column of the batch's rows.
  void Pick(std::span<const float> column, AlignedFloats* to) const;

  int rows() const { return static_cast<int>(row_.size()); }
  const float* observations() const { return observation_.data(); }
  const float* weights() const { return weight_.data(); }
  /// The words of the i-th row's action.
  const std::int32_t* Action(std::size_t i) const {
    return action_.data() + i * static_cast<std::size_t>(action_layout_.words());
  }
  /// The actions with the outputs that the network gave for them.
  ActionRows Actions(const float* outputs, const float* log_deviations) const;

 private:
  void GatherObservation(const TrainingBatch& batch, std::size_t i, const SeenRow& seen);

  const FrameStack stack_;
  const ActionLayout action_layout_;
  const std::size_t row_words_;    ///< of a stacked row
  std::vector<std::int32_t> row_;  ///< of the batch
  AlignedFloats observation_, weight_;
  std::vector<std::int32_t> action_;
  std::vector<std::uint8_t> mask_;
  bool masked_ = false;
  std::vector<const std::byte*> history_;
};

}  // namespace murmurate
