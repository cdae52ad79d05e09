// Which rows the network sees together: all of a batch when it is taken up, then minibatches.
#include <algorithm>
#include <cstring>
#include <utility>

#include "server/learn/algorithm.h"

namespace murmurate {
namespace {

/// The i-th of `parts` nearly equal pieces of n starts here.
std::size_t Border(std::size_t n, std::size_t parts, std::size_t i) { return n * i / parts; }

}  // namespace

template <typename Add>
void Algorithm::ForSuccessors(int place, Add add) const {
  const TrainingBatch& batch = *batch_;
  const std::int32_t first = place * batch.length;
  const std::int32_t last = first + batch.trajectories[place].steps - 1;
  auto final = std::lower_bound(batch.final_row.begin(), batch.final_row.end(), first);
  for (; final != batch.final_row.end() && *final <= last; ++final) {
    add(Slot{*final, batch.FinalRow(static_cast<std::size_t>(final - batch.final_row.begin()))});
  }
  if ((batch.flags[last] & (kTerminatedFlag | kTruncatedFlag)) == 0) {
    add(Slot{last, batch.NextRow(static_cast<std::size_t>(place))});
  }
}

void Algorithm::Evaluate(std::span<const float> parameters) {
  if (recurrent()) {
    const std::size_t most = static_cast<std::size_t>(lanes_);
    for (std::size_t begin = 0; begin < places_.size(); begin += most) {
      const auto places =
          std::span<const int>(places_).subspan(begin, std::min(most, places_.size() - begin));
      LayLanes(places, 0, batch_->length, true);
      EvaluateSlots(parameters, slots_, &sequences_);
    }
  } else {
    const auto evaluate = [&] {
      const std::size_t most = static_cast<std::size_t>(settings_.minibatch);
      const std::span<const Slot> all = slots_;
      for (std::size_t begin = 0; begin < all.size(); begin += most) {
        EvaluateSlots(parameters, all.subspan(begin, std::min(most, all.size() - begin)), nullptr);
      }
    };
    slots_.clear();
    for (const int place : places_) {
      ForSuccessors(place, [this](const Slot& slot) { slots_.push_back(slot); });
    }
    evaluate();
    slots_.clear();
    for (const std::int32_t row : rows_) slots_.push_back({row});
    evaluate();  // last: in one pass the gradient is taken of it
  }
  for (const int place : places_) {
    const std::int32_t first = place * batch_->length;
    const std::int32_t last = first + batch_->trajectories[place].steps - 1;
    for (std::int32_t row = first; row < last; ++row) {
      if ((batch_->flags[row] & kTruncatedFlag) == 0) next_value_[row] = value_[row + 1];
    }
    if ((batch_->flags[last] & kTerminatedFlag) != 0) next_value_[last] = 0.0f;
  }
}

void Algorithm::EvaluateSlots(std::span<const float> parameters, std::span<const Slot> slots,
                              const Sequences* sequences) {
  const int count = static_cast<int>(slots.size());
  Gather(slots);
  network_.Forward(parameters, observation_.data(), count, outputs_.data(), values_.data(),
                   sequences);
  head_.Evaluate(Actions(parameters, count), log_prob_.data(),
                 one_pass_ ? entropy_.data() : nullptr);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::int32_t row = slots[i].row;
    if (row == kPadding) continue;
    if (slots[i].successor != nullptr) {
      next_value_[row] = values_[i];
    } else {
      value_[row] = values_[i];
      start_log_prob_[row] = log_prob_[i];
      log_ratio_[row] = log_prob_[i] - minibatch_log_prob_[i];
    }
  }
}

bool Algorithm::ForwardNext(std::span<const float> parameters) {
  if (one_pass_) {
    if (rows_.empty() || ++epoch_ > 0) return false;
    GatherColumns(slots_);  // returns have come since
    return true;
  }
  if (!NextMinibatch(parameters)) return false;
  const int count = static_cast<int>(slots_.size());
  Gather(slots_);
  network_.Forward(parameters, observation_.data(), count, outputs_.data(), values_.data(),
                   recurrent() ? &sequences_ : nullptr);
  if (!label_loss_) head_.Evaluate(Actions(parameters, count), log_prob_.data(), entropy_.data());
  return true;
}

template <typename T>
std::size_t Algorithm::NextPiece(std::vector<T>& all, std::size_t most) {
  if (next_ == all.size()) {
    if (all.empty() || ++epoch_ >= settings_.epochs) return 0;
    next_ = 0;
    for (std::size_t i = all.size() - 1; i > 0; --i) {
      std::swap(all[i], all[random_.UniformInt(static_cast<std::uint32_t>(i + 1))]);
    }
  }
  // Pieces of nearly equal size: a last one of a few rows would be a step in a random direction.
  const std::size_t left = all.size() - next_;
  const std::size_t piece = Border(left, (left + most - 1) / most, 1);
  next_ += piece;
  return piece;
}

bool Algorithm::NextMinibatch(std::span<const float> parameters) {
  if (!recurrent()) {
    const std::size_t count = NextPiece(rows_, static_cast<std::size_t>(settings_.minibatch));
    slots_.clear();
    for (std::size_t i = next_ - count; i < next_; ++i) slots_.push_back({rows_[i]});
    return count > 0;
  }
  const std::size_t count = NextPiece(order_, static_cast<std::size_t>(lanes_));
  if (count == 0) return false;
  const auto places = std::span<const int>(order_).subspan(next_ - count, count);
  if (burn_in_ > 0) BurnIn(parameters, places);
  LayLanes(places, burn_in_, batch_->length, false);
  if (burn_in_ > 0) sequences_.state0 = state_after_.data();
  return true;
}

/// Leaves the state after the first burn_in_ steps in state_after_.
void Algorithm::BurnIn(std::span<const float> parameters, std::span<const int> places) {
  LayLanes(places, 0, burn_in_, false);
  Gather(slots_);
  sequences_.state_out = state_after_.data();
  network_.Forward(parameters, observation_.data(), static_cast<int>(slots_.size()), nullptr,
                   values_.data(), &sequences_);
}

void Algorithm::LayLanes(std::span<const int> places, int from, int to, bool successors) {
  const std::size_t states = static_cast<std::size_t>(network_.state_floats());
  std::size_t steps = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::vector<Slot>& lane = lane_[i];
    lane.clear();
    const std::int32_t first = places[i] * batch_->length;
    const int end = std::min(to, batch_->trajectories[places[i]].steps);
    for (int step = from; step < end; ++step) lane.push_back({first + step});
    if (successors) {
      ForSuccessors(places[i], [&](const Slot& slot) {
        const auto behind = std::find_if(lane.begin(), lane.end(),
                                         [&](const Slot& other) { return other.row > slot.row; });
        lane.insert(behind, slot);
      });
    }
    steps = std::max(steps, lane.size());
    std::copy_n(batch_->state0.data() + places[i] * states, states, state_.data() + i * states);
  }
  slots_.assign(steps * places.size(), Slot{});
  first_.assign(slots_.size(), 0);
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (std::size_t step = 0; step < lane_[i].size(); ++step) {
      const Slot& slot = slots_[step * places.size() + i] = lane_[i][step];
      const bool begins = slot.successor == nullptr && (batch_->flags[slot.row] & kFirst) != 0;
      first_[step * places.size() + i] = begins;
    }
  }
  sequences_ = {static_cast<int>(steps), static_cast<int>(places.size()), first_.data(),
                state_.data(), nullptr};
}

void Algorithm::PutObservation(std::size_t i, const Slot& slot) {
  auto* to = reinterpret_cast<std::byte*>(observation_.data() + i * row_words_);
  if (slot.row == kPadding) {
    std::memset(to, 0, stack_.row_bytes());
    return;
  }
  if (stack_.depth() == 1) {
    const std::byte* from =
        slot.successor != nullptr ? slot.successor : batch_->ObservationRow(slot.row);
    std::memcpy(to, from, stack_.row_bytes());
    return;
  }
  // What followed a row has that row's history behind it.
  const std::span<const std::byte*> rows(history_);
  const std::size_t depth = rows.size() - 1;
  rows[0] = slot.successor;
  batch_->History(slot.row, rows.subspan(1));
  stack_.Assemble(slot.successor != nullptr ? rows.first(depth) : rows.subspan(1), to);
}

void Algorithm::Gather(std::span<const Slot> slots) {
  for (std::size_t i = 0; i < slots.size(); ++i) PutObservation(i, slots[i]);
  GatherColumns(slots);
}

void Algorithm::GatherColumns(std::span<const Slot> slots) {
  const std::size_t words = static_cast<std::size_t>(action_layout_.words());
  const std::size_t masks = batch_->masked ? action_layout_.mask_bytes() : 0;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    // Padding stands for the batch's first row and weighs nothing.
    const bool weighs = slots[i].row != kPadding && slots[i].successor == nullptr;
    const std::size_t row = slots[i].row == kPadding ? rows_[0] : slots[i].row;
    std::copy_n(&batch_->action[row * words], words, &minibatch_action_[i * words]);
    std::copy_n(batch_->mask.data() + row * masks, masks, minibatch_mask_.data() + i * masks);
    minibatch_log_prob_[i] = batch_->log_prob[row];
    minibatch_start_[i] = start_log_prob_[row];
    minibatch_advantage_[i] = advantage_[row];
    minibatch_target_[i] = target_[row];
    minibatch_weight_[i] = weighs ? batch_->weight[row] : 0.0f;
  }
}

}  // namespace murmurate
