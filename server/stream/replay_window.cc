#include "server/stream/replay_window.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "shared/core/check.h"

namespace murmurate {
namespace {

/// The bytes that say what is learned at one slot of a batch; the rest is the same in all batches
/// of a stream.
std::array<std::span<std::byte>, 5> PartsOf(TrainingBatch* batch, std::size_t slot) {
  const auto part = [&](auto& column) {
    const std::size_t each = column.size() / static_cast<std::size_t>(batch->capacity);
    return std::as_writable_bytes(std::span(column.data() + slot * each, each));
  };
  return {part(batch->observation), part(batch->action), part(batch->weight), part(batch->flags),
          part(batch->state0)};
}

std::size_t SlotBytes(const TrajectoryLayout& layout) {
  TrainingBatch one(layout, 1);
  std::size_t bytes = 0;
  for (const auto part : PartsOf(&one, 0)) bytes += part.size();
  return bytes;
}

}  // namespace

ReplayWindow::ReplayWindow(const TrajectoryLayout& layout, int most, std::uint64_t seed)
    : bytes_(SlotBytes(layout)), most_(static_cast<std::size_t>(most)), random_(seed) {
  MURMURATE_CHECK(most >= 1, "a window keeps at least one sequence");
  blocks_.reserve(bytes_ * most_);
  kept_.reserve(most_);
}

std::size_t ReplayWindow::BytesOf(const TrajectoryLayout& layout, int most) {
  return (SlotBytes(layout) + sizeof(BatchTrajectory)) * static_cast<std::size_t>(most);
}

int ReplayWindow::Mix(TrainingBatch* batch) {
  const int fresh = static_cast<int>(batch->trajectories.size());
  const int again = kept_.empty() ? 0 : std::min(fresh, batch->capacity - fresh);
  for (int i = 0; i < again; ++i) Draw(batch);
  for (int i = 0; i < fresh; ++i) Keep(batch, static_cast<std::size_t>(i));
  if (again > 0) batch->samples = TrainingBatch::Samples::kRead;
  return again;
}

void ReplayWindow::Draw(TrainingBatch* batch) {
  const std::size_t from = random_.UniformInt(static_cast<std::uint32_t>(kept_.size()));
  const std::size_t slot = batch->trajectories.size();
  const std::byte* at = blocks_.data() + from * bytes_;
  for (const auto part : PartsOf(batch, slot)) {
    if (!part.empty()) std::memcpy(part.data(), at, part.size());
    at += part.size();
  }
  batch->trajectories.push_back(kept_[from]);
  batch->trajectories.back().agent = static_cast<std::uint32_t>(slot);
  ++drawn_;
}

void ReplayWindow::Keep(TrainingBatch* batch, std::size_t slot) {
  const std::size_t to = oldest_;
  oldest_ = (oldest_ + 1) % most_;
  if (to == kept_.size()) {
    kept_.emplace_back();
    blocks_.resize(blocks_.size() + bytes_);
  }
  kept_[to] = batch->trajectories[slot];
  std::byte* at = blocks_.data() + to * bytes_;
  for (const auto part : PartsOf(batch, slot)) {
    if (!part.empty()) std::memcpy(at, part.data(), part.size());
    at += part.size();
  }
}

void ReplayWindow::Save(const StateWriter& writer) const {
  writer.Words("random", random_.Saved());
}

Status ReplayWindow::Load(const StateReader& reader) {
  Random::Words words{};
  if (!reader.AllWords("random").ok()) return {};
  MURMURATE_RETURN_IF_ERROR(reader.Words("random", words));
  random_.GoOnFrom(words);
  return {};
}

}  // namespace murmurate
