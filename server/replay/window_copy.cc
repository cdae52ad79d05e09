#include "server/replay/window_copy.h"

#include <algorithm>
#include <cstring>

#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr std::uint8_t kEnds = kTerminatedFlag | kTruncatedFlag;

SampleForm WithRows(SampleForm form) {
  form.places = false;
  return form;
}

/// The layout of the same columns with rows of one word.
TrajectoryLayout OfPlaces(const TrajectoryLayout& layout) {
  TrajectoryLayout words = layout;
  words.observation = ObservationLayout(Box({1}));
  return words;
}

}  // namespace

WindowCopy::WindowCopy(const SampleForm& form, const TrajectoryLayout& layout,
                       const ReplayRows* rows)
    : form_(form),
      chunk_length_(layout.length),
      rows_(rows),
      history_(static_cast<std::size_t>(layout.frames)) {}

TrajectoryLayout WindowCopy::BatchLayout(const SampleForm& form, const TrajectoryLayout& layout) {
  if (form.places) return BatchLayout(WithRows(form), OfPlaces(layout));
  if (!form.sequence) return layout.Resized(form.length, 1);
  const int chunks = form.length / layout.length;
  TrajectoryLayout several = layout;
  several.state_floats *= chunks;
  return several.Resized(form.length, chunks * layout.max_finals);
}

std::uint8_t WindowCopy::Flags(RowPlace place) const {
  return rows_->ring().Flags(rows_->At(place.chunk).first_row +
                             static_cast<std::uint64_t>(place.step));
}

WindowCopy::Part WindowCopy::PartFrom(RowPlace place, const Room& room) const {
  const Chunk& chunk = rows_->At(place.chunk);
  int steps = 0, finals = 0;
  for (; steps < room.steps && place.step + steps < chunk.steps; ++steps) {
    const std::uint8_t flags = Flags({place.chunk, place.step + steps});
    finals += (flags & kTruncatedFlag) != 0;
    if (finals > room.finals) return {steps, true};
    if (!form_.sequence && (flags & kEnds) != 0) return {steps + 1, true};
  }
  return {steps, steps == room.steps || chunk.following == Chunk::kNone};
}

void WindowCopy::Add(std::uint64_t row, float weight, TrainingBatch* batch) {
  MURMURATE_CHECK(!batch->full(), "a full batch takes no more samples");
  const RowPlace first = rows_->PlaceOf(row);
  const Chunk& chunk = rows_->At(first.chunk);
  const std::size_t begin = batch->trajectories.size() * static_cast<std::size_t>(batch->length);
  CopyBegin(first, batch);
  RowPlace place = first, last = first;
  int steps = 0;
  for (Room room{batch->length, batch->layout.max_finals};;
       place = {rows_->At(place.chunk).following, 0}) {
    const Part part = PartFrom(place, room);
    const std::size_t to = begin + static_cast<std::size_t>(steps);
    if (part.steps > 0) CopyState(place, steps, batch);
    CopySteps(place, part.steps, to, batch);
    room.finals -= AddFinals(place, part.steps, to, batch);
    room.steps -= part.steps;
    steps += part.steps;
    if (part.steps > 0) last = {place.chunk, place.step + part.steps - 1};
    if (part.last) break;
  }
  CopyEnd(last, batch);
  std::fill_n(batch->flags.data() + begin + steps, batch->length - steps, std::uint8_t{0});
  std::fill_n(batch->weight.data() + begin, batch->length, 0.0f);
  std::fill_n(batch->weight.data() + begin, form_.sequence ? steps : 1, weight);
  batch->trajectories.push_back(
      {.agent = chunk.agent,
       .first_step = chunk.first_step + static_cast<std::uint64_t>(first.step),
       .version = chunk.version,
       .steps = steps});
}

void WindowCopy::AddChunk(std::uint64_t number, TrainingBatch* batch) {
  MURMURATE_CHECK(!batch->full(), "a full batch takes no more trajectories");
  const Chunk& chunk = rows_->At(number);
  const std::size_t begin = batch->trajectories.size() * static_cast<std::size_t>(batch->length);
  CopyBegin({number, 0}, batch);
  CopyState({number, 0}, 0, batch);
  CopySteps({number, 0}, chunk.steps, begin, batch);
  AddFinals({number, 0}, chunk.steps, begin, batch);
  CopyEnd({number, chunk.steps - 1}, batch);
  batch->trajectories.push_back({.agent = chunk.agent,
                                 .first_step = chunk.first_step,
                                 .version = chunk.version,
                                 .steps = chunk.steps});
}

void WindowCopy::CopySteps(RowPlace first, int steps, std::size_t to, TrainingBatch* batch) const {
  const RowRing& ring = rows_->ring();
  const std::uint64_t row =
      rows_->At(first.chunk).first_row + static_cast<std::uint64_t>(first.step);
  ring.CopyTo(row, steps, to, batch);
  if (!form_.places) {
    float* const rows = batch->observation.data() + to * batch->layout.row_words();
    return ring.CopyObservations(row, steps, reinterpret_cast<std::byte*>(rows));
  }
  for (int i = 0; i < steps; ++i)
    CopyRow(ring.Observation(row + static_cast<std::uint64_t>(i)), batch->observation,
            to + static_cast<std::size_t>(i), batch->layout);
}

/// Row `to` of a column. Null: zeros.
void WindowCopy::CopyRow(const std::byte* from, std::span<float> rows, std::size_t to,
                         const TrajectoryLayout& layout) const {
  const std::size_t words = layout.row_words();
  float* const row = rows.data() + to * words;
  if (form_.places) {
    const std::uint32_t word =
        from == nullptr ? KeptRows::kZeros : KeptRows::WordOf(rows_->places().PlaceOf(from));
    std::memcpy(row, &word, sizeof word);
  } else if (from == nullptr) {
    std::fill_n(row, words, 0.0f);
  } else {
    std::memcpy(row, from, words * sizeof(float));
  }
}

int WindowCopy::AddFinals(RowPlace first, int steps, std::size_t to, TrainingBatch* batch) const {
  int added = 0;
  for (int step = 0; step < steps; ++step) {
    const RowPlace place{first.chunk, first.step + step};
    if ((Flags(place) & kTruncatedFlag) == 0) continue;
    CopyRow(rows_->Final(place), batch->final_observation, batch->final_row.size(), batch->layout);
    batch->final_row = {batch->final_row.data(), batch->final_row.size() + 1};
    batch->final_row.back() = static_cast<std::int32_t>(to) + step;
    ++added;
  }
  return added;
}

void WindowCopy::CopyBegin(RowPlace first, TrainingBatch* batch) {
  rows_->History(first, history_);
  std::size_t to = batch->trajectories.size() * history_.size();
  for (auto row = history_.rbegin(); row != history_.rend(); ++row, ++to)
    CopyRow(*row, batch->frames0, to, batch->layout);
}

/// `place` is step `step` of the sample, its first or a chunk's first.
void WindowCopy::CopyState(RowPlace place, int step, TrainingBatch* batch) const {
  const auto floats = static_cast<std::size_t>(batch->layout.state_floats);
  float* const states = batch->state0.data() + batch->trajectories.size() * floats;
  if (step == 0) std::fill_n(states, floats, 0.0f);
  if (place.step > 0 || step % chunk_length_ != 0) return;
  const std::span<const float> state = rows_->State(place.chunk);
  std::ranges::copy(state, states + static_cast<std::size_t>(step / chunk_length_) * state.size());
}

void WindowCopy::CopyEnd(RowPlace last, TrainingBatch* batch) const {
  const bool ended = (Flags(last) & kEnds) != 0;
  CopyRow(ended ? nullptr : rows_->Next(last), batch->next_observation, batch->trajectories.size(),
          batch->layout);
}

}  // namespace murmurate
