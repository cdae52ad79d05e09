#include "server/replay/replay_rows.h"

#include <algorithm>
#include <cstring>

#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr std::uint8_t kEnds = kTerminatedFlag | kTruncatedFlag;

std::size_t Size(int count) { return static_cast<std::size_t>(count); }

}  // namespace

ReplayRows::ReplayRows(const TrajectoryLayout& layout, const ReplayRoom& room, BlockCursor& block)
    : layout_(layout),
      ring_(layout, room.rows, block),
      chunks_(room.chunks, block),
      states_(block.Next<float>(room.chunks * Size(layout.state_floats))),
      frames_(Size(layout.frames) * layout.row_bytes(), room.chains, block),
      rows_(layout.row_bytes(), room.extra_rows, block),
      places_({ring_.observations(), frames_.bytes(), rows_.bytes()}, layout.row_bytes()),
      history_(Size(layout.frames)) {}

std::size_t ReplayRows::FinalsOf(const TrajectoryView& view) const {
  return view.final_observation.size() / layout_.row_bytes();
}

bool ReplayRows::HasRoomFor(const TrajectoryView& view) const {
  return size() + Size(view.steps) <= ring_.capacity() && !chunks_.full() &&
         (layout_.frames == 0 || frames_.free() > 0) && rows_.free() > FinalsOf(view);
}

void ReplayRows::MakeRoomFor(const TrajectoryView& view) {
  MURMURATE_CHECK(view.steps >= 1 && Size(view.steps) <= ring_.capacity(),
                  "a trajectory is shorter than the replay");
  while (!HasRoomFor(view)) EvictOldest();
}

void ReplayRows::EvictOldest() {
  MURMURATE_CHECK(chunks_.size() > 0, "an empty replay has room for every trajectory");
  Chunk& oldest = chunks_.At(chunks_.first());
  if (oldest.following != Chunk::kNone) {
    BecomeFirst(chunks_.At(oldest.following), oldest);
  } else {
    if (layout_.frames > 0) frames_.Give(oldest.frames);
    if (const auto last = last_.find(oldest.agent); last->second == chunks_.first())
      last_.erase(last);
  }
  rows_.GiveAll(&oldest.next_observation);
  rows_.GiveAll(&oldest.finals);
  first_row_ += Size(oldest.steps);
  chunks_.DropFirst();
}

/// The frames before it are written over those before the evicted one, the oldest first: a row that
/// moves comes from behind the place it goes to.
void ReplayRows::BecomeFirst(Chunk& chunk, const Chunk& evicted) {
  if (layout_.frames > 0) {
    History({evicted.following, 0}, history_);
    const std::size_t bytes = layout_.row_bytes();
    std::byte* to = frames_.Block(evicted.frames);
    for (auto row = history_.rbegin(); row != history_.rend(); ++row, to += bytes) {
      if (*row == nullptr)
        std::memset(to, 0, bytes);
      else
        std::memcpy(to, *row, bytes);
    }
    places_.Written(frames_.Block(evicted.frames), Size(layout_.frames));
  }
  chunk.frames = evicted.frames;
  chunk.previous = Chunk::kNone;
}

bool ReplayRows::Ended(const Chunk& chunk) const {
  return (ring_.Flags(chunk.first_row + Size(chunk.steps) - 1) & kEnds) != 0;
}

bool ReplayRows::Continues(const TrajectoryView& view, const Chunk& chunk) const {
  return view.first_step == chunk.first_step + Size(chunk.steps) &&
         Ended(chunk) == ((view.flags[0] & kFirst) != 0);
}

std::optional<std::uint64_t> ReplayRows::Ends(const TrajectoryView& view) const {
  const auto last = last_.find(view.agent);
  if (last == last_.end() || Continues(view, At(last->second))) return {};
  return last->second;
}

std::uint64_t ReplayRows::Insert(const TrajectoryView& view) {
  MURMURATE_CHECK(HasRoomFor(view), "room was made for the trajectory");
  const std::uint64_t number = chunks_.Append({.first_row = end_row_,
                                               .first_step = view.first_step,
                                               .version = view.version,
                                               .previous = Chunk::kNone,
                                               .following = Chunk::kNone,
                                               .agent = view.agent,
                                               .steps = view.steps,
                                               .frames = RowPool::kNone,
                                               .next_observation = RowPool::kNone,
                                               .finals = RowPool::kNone});
  Chunk& chunk = chunks_.At(number);
  const auto [last, is_new] = last_.try_emplace(view.agent, number);
  if (!is_new && Continues(view, At(last->second))) chunk.previous = last->second;
  last->second = number;
  if (chunk.previous == Chunk::kNone) {
    KeepFrames(view, chunk);
  } else {
    Chunk& before = chunks_.At(chunk.previous);
    before.following = number;
    rows_.GiveAll(&before.next_observation);  // it is the first row of this one
  }
  ring_.Write(end_row_, view, static_cast<std::uint32_t>(chunks_.SlotOf(number)));
  const std::size_t before = std::min(Size(view.steps), ring_.capacity() - ring_.Place(end_row_));
  places_.Written(ring_.Observation(end_row_), before);
  places_.Written(ring_.Observation(end_row_ + before), Size(view.steps) - before);
  end_row_ += Size(view.steps);
  const std::size_t state = chunks_.SlotOf(number) * Size(layout_.state_floats);
  std::ranges::copy(view.state0, states_.begin() + static_cast<std::ptrdiff_t>(state));
  KeepEnds(view, chunk);
  return number;
}

void ReplayRows::KeepFrames(const TrajectoryView& view, Chunk& chunk) {
  if (layout_.frames == 0) return;
  chunk.frames = frames_.Take();
  std::memcpy(frames_.Block(chunk.frames), view.frames0.data(),
              Size(layout_.frames) * layout_.row_bytes());
  places_.Written(frames_.Block(chunk.frames), Size(layout_.frames));
}

void ReplayRows::KeepEnds(const TrajectoryView& view, Chunk& chunk) {
  const std::size_t bytes = layout_.row_bytes();
  for (std::size_t final = 0; final < FinalsOf(view); ++final) {
    rows_.TakeTo(&chunk.finals);
    std::memcpy(rows_.Block(chunk.finals), view.final_observation.data() + final * bytes, bytes);
    places_.Written(rows_.Block(chunk.finals), 1);
  }
  if (Ended(chunk)) return;
  rows_.TakeTo(&chunk.next_observation);
  std::memcpy(rows_.Block(chunk.next_observation), view.next_observation.data(), bytes);
  places_.Written(rows_.Block(chunk.next_observation), 1);
}

std::uint64_t ReplayRows::RowAt(std::size_t place) const {
  const std::size_t capacity = ring_.capacity(), first = ring_.Place(first_row_);
  return first_row_ + (place >= first ? place - first : place + capacity - first);
}

RowPlace ReplayRows::PlaceOf(std::uint64_t row) const {
  const std::uint64_t number = chunks_.NumberAt(ring_.Owner(row));
  return {number, static_cast<int>(row - At(number).first_row)};
}

void ReplayRows::History(RowPlace place, std::span<const std::byte*> rows) const {
  const Chunk* chunk = &At(place.chunk);
  int step = place.step;
  std::size_t age = 0;
  std::ranges::fill(rows, nullptr);
  while (age < rows.size() && (ring_.Flags(chunk->first_row + Size(step)) & kFirst) == 0) {
    if (step == 0 && chunk->previous == Chunk::kNone) break;
    if (step == 0) {
      chunk = &At(chunk->previous);
      step = chunk->steps;
    }
    --step;
    rows[age++] = ring_.Observation(chunk->first_row + Size(step));
  }
  const bool begun = (ring_.Flags(chunk->first_row + Size(step)) & kFirst) != 0;
  if (begun || rows.size() == age) return;
  const std::byte* const end =
      frames_.Block(chunk->frames) + Size(layout_.frames) * layout_.row_bytes();
  for (std::size_t before = 1; age < rows.size(); ++before)
    rows[age++] = end - before * layout_.row_bytes();
}

const std::byte* ReplayRows::Next(RowPlace place) const {
  const Chunk& chunk = At(place.chunk);
  if (place.step + 1 < chunk.steps)
    return ring_.Observation(chunk.first_row + Size(place.step) + 1);
  return chunk.following == Chunk::kNone ? rows_.Block(chunk.next_observation)
                                         : ring_.Observation(At(chunk.following).first_row);
}

const std::byte* ReplayRows::Final(RowPlace place) const {
  const Chunk& chunk = At(place.chunk);
  std::uint32_t final = chunk.finals;
  for (int later = place.step + 1; later < chunk.steps; ++later)
    if ((ring_.Flags(chunk.first_row + Size(later)) & kTruncatedFlag) != 0)
      final = rows_.Following(final);
  return rows_.Block(final);
}

std::span<const float> ReplayRows::State(std::uint64_t chunk) const {
  const std::size_t floats = Size(layout_.state_floats);
  return states_.subspan(chunks_.SlotOf(chunk) * floats, floats);
}

}  // namespace murmurate
