#include "server/learn/replayed_sequences.h"

#include <algorithm>
#include <cmath>

#include "server/replay/sample_form.h"
#include "server/replay/window_copy.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

/// The rows of a lane at most: steps, and what followed each truncation and the end.
int LongestLane(const TrajectoryLayout& layout) { return layout.length + layout.max_finals + 1; }

}  // namespace

ReplayedSequences::ReplayedSequences(const ModelSpec& spec, const AlgorithmSettings& settings)
    : burn_in_(settings.burn_in),
      trajectory_length_(settings.trajectory_length),
      states_(static_cast<std::size_t>(
          TrajectoryLayout(spec, settings.trajectory_length).state_floats)),
      layout_(WindowCopy::BatchLayout(SampleForm(settings.replay),
                                      TrajectoryLayout(spec, settings.trajectory_length))),
      most_rows_(settings.replay.minibatch * std::max(burn_in_, LongestLane(layout_) - burn_in_)),
      lanes_(settings.replay.minibatch, LongestLane(layout_), static_cast<int>(states_)),
      minibatch_(spec, most_rows_),
      places_(static_cast<std::size_t>(settings.replay.minibatch * layout_.length)) {
  MURMURATE_CHECK(burn_in_ < layout_.length, "a sequence has steps to learn from");
  slots_.reserve(static_cast<std::size_t>(settings.replay.minibatch));
  seen_.reserve(static_cast<std::size_t>(most_rows_));
}

void ReplayedSequences::Take(const TrainingBatch& batch, std::span<const std::int32_t> rows) {
  MURMURATE_CHECK(
      batch.length == layout_.length && batch.layout.state_floats == layout_.state_floats,
      "a batch of the sequences that the algorithm was made for");
  batch_ = &batch;
  slots_.clear();
  for (const std::int32_t row : rows)
    if (const int slot = row / batch.length; slots_.empty() || slots_.back() != slot)
      slots_.push_back(slot);
  MURMURATE_CHECK(static_cast<std::size_t>(slots_.back() - slots_.front() + 1) *
                          static_cast<std::size_t>(batch.length) <=
                      places_.size(),
                  "the sequences of one update");
}

ReplayedSequences::Learned ReplayedSequences::LearnedOf(int slot) const {
  const std::int32_t first = slot * batch_->length;
  const int steps = batch_->trajectories[static_cast<std::size_t>(slot)].steps;
  return {first + std::min(burn_in_, steps), first + steps};
}

std::size_t ReplayedSequences::learned_rows() const {
  std::size_t rows = 0;
  for (const int slot : slots_) {
    const Learned learned = LearnedOf(slot);
    rows += static_cast<std::size_t>(learned.end - learned.first);
  }
  return rows;
}

void ReplayedSequences::See(SequenceNetwork& network, std::span<const float> parameters,
                            float* outputs) {
  if (burn_in_ > 0) {
    lanes_.Lay(*batch_, slots_, {}, 0, burn_in_, false, &seen_);
    Run(network, parameters, lanes_.SequencesKeepingState(), nullptr);
  }
  lanes_.Lay(*batch_, slots_, {}, burn_in_, batch_->length, true, &seen_);
  if (burn_in_ > 0) lanes_.BeginWithStateAfter();
  const std::int32_t first = slots_.front() * batch_->length;
  for (std::size_t i = 0; i < seen_.size(); ++i)
    if (seen_[i].row != SeenRow::kPadding && seen_[i].successor == nullptr)
      places_[static_cast<std::size_t>(seen_[i].row - first)] = static_cast<std::int32_t>(i);
  if (!seen_.empty()) Run(network, parameters, lanes_.sequences(), outputs);
}

void ReplayedSequences::Run(SequenceNetwork& network, std::span<const float> parameters,
                            const Sequences& sequences, float* outputs) {
  minibatch_.Gather(*batch_, seen_, slots_.front() * batch_->length);
  network.Forward(parameters, minibatch_.observations(), sequences, outputs);
}

/// What followed a step is one step later in the same lane.
std::size_t ReplayedSequences::PlaceOf(const SeenRow& row) const {
  const std::int32_t first = slots_.front() * batch_->length;
  const auto place = static_cast<std::size_t>(places_[static_cast<std::size_t>(row.row - first)]);
  return row.successor == nullptr ? place : place + slots_.size();
}

ReplayedSequences::Drift ReplayedSequences::StateDrift() const {
  Drift drift;
  if (burn_in_ == 0 || burn_in_ % trajectory_length_ != 0) return drift;
  for (std::size_t lane = 0; lane < slots_.size(); ++lane) {
    const auto [first, end] = LearnedOf(slots_[lane]);
    if (first == end || (batch_->flags[static_cast<std::size_t>(first)] & kFirst) != 0) continue;
    const std::size_t all = static_cast<std::size_t>(slots_[lane]) * layout_.state_floats;
    const float* const stored = batch_->state0.data() + all +
                                static_cast<std::size_t>(burn_in_ / trajectory_length_) * states_;
    const std::span<const float> found = lanes_.StateAfter(lane);
    double difference = 0.0, length = 0.0;
    for (std::size_t i = 0; i < states_; ++i) {
      difference += (double{found[i]} - stored[i]) * (double{found[i]} - stored[i]);
      length += double{stored[i]} * stored[i];
    }
    if (length == 0.0) continue;
    drift.difference += std::sqrt(difference);
    drift.stored += std::sqrt(length);
  }
  return drift;
}

}  // namespace murmurate
