#include "server/learn/minibatch.h"

#include <algorithm>
#include <cstring>

namespace murmurate {

Minibatch::Minibatch(const ModelSpec& spec, int max_rows)
    : stack_(spec),
      action_layout_(spec.spaces.action, spec.continuous),
      row_words_(stack_.row_bytes() / sizeof(float)),
      observation_(static_cast<std::size_t>(max_rows) * row_words_),
      weight_(static_cast<std::size_t>(max_rows)),
      action_(static_cast<std::size_t>(max_rows) * action_layout_.words()),
      mask_(static_cast<std::size_t>(max_rows) * action_layout_.mask_bytes()),
      history_(static_cast<std::size_t>(stack_.depth()) + 1) {
  row_.reserve(static_cast<std::size_t>(max_rows));
}

bool Minibatch::Fits(const TrainingBatch& batch) const {
  return batch.layout.frames + 1 == stack_.depth() &&
         batch.layout.action.words() == action_layout_.words();
}

void Minibatch::Gather(const TrainingBatch& batch, std::span<const SeenRow> rows,
                       std::int32_t padding) {
  const auto words = static_cast<std::size_t>(action_layout_.words());
  const auto masks = static_cast<std::size_t>(batch.masked ? action_layout_.mask_bytes() : 0);
  masked_ = batch.masked;
  row_.clear();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const SeenRow& seen = rows[i];
    GatherObservation(batch, i, seen);
    const bool weighs = seen.row != SeenRow::kPadding && seen.successor == nullptr;
    const std::int32_t row = seen.row == SeenRow::kPadding ? padding : seen.row;
    const auto at = static_cast<std::size_t>(row);
    row_.push_back(row);
    std::copy_n(batch.action.data() + at * words, words, &action_[i * words]);
    std::copy_n(batch.mask.data() + at * masks, masks, mask_.data() + i * masks);
    weight_[i] = weighs ? batch.weight[at] * seen.weight : 0.0f;
  }
}

void Minibatch::Pick(std::span<const float> column, AlignedFloats* to) const {
  for (std::size_t i = 0; i < row_.size(); ++i) (*to)[i] = column[row_[i]];
}

ActionRows Minibatch::Actions(const float* outputs, const float* log_deviations) const {
  return {.rows = rows(),
          .outputs = outputs,
          .log_deviations = log_deviations,
          .actions = action_.data(),
          .mask = masked_ ? mask_.data() : nullptr};
}

void Minibatch::GatherObservation(const TrainingBatch& batch, std::size_t i, const SeenRow& seen) {
  auto* to = reinterpret_cast<std::byte*>(observation_.data() + i * row_words_);
  if (seen.row == SeenRow::kPadding) {
    std::memset(to, 0, stack_.row_bytes());
    return;
  }
  const auto row = static_cast<std::size_t>(seen.row);
  if (stack_.depth() == 1) {
    const std::byte* from = seen.successor != nullptr ? seen.successor : batch.ObservationRow(row);
    std::memcpy(to, from, stack_.row_bytes());
    return;
  }
  // A successor has the history of its row behind it.
  const std::span<const std::byte*> rows(history_);
  const std::size_t depth = rows.size() - 1;
  rows[0] = seen.successor;
  batch.History(seen.row, rows.subspan(1));
  stack_.Assemble(seen.successor != nullptr ? rows.first(depth) : rows.subspan(1), to);
}

}  // namespace murmurate
