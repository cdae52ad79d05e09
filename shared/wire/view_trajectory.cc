#include <algorithm>

#include "shared/wire/actor_messages.h"

namespace murmurate::wire {
namespace {

constexpr std::size_t kBorder = 64;
constexpr std::array<const char*, kColumnCount> kColumnNames = {
    "observation",      "action",   "log_prob", "reward", "flags",  "final_observation",
    "next_observation", "episodes", "mask",     "state0", "frames0"};

std::size_t Bytes(const Experience& metadata, Column column) {
  return metadata.columns[static_cast<int>(column)].bytes;
}

Status WrongBytes(int column, std::size_t expected, std::size_t got) {
  return InvalidData(std::string(kColumnNames[column]) + ": expected " + std::to_string(expected) +
                     " bytes, got " + std::to_string(got));
}

Status CheckOffsets(const Experience& metadata, std::size_t block_bytes) {
  std::array<int, kColumnCount> order;
  for (int i = 0; i < kColumnCount; ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](int a, int b) { return metadata.columns[a].offset < metadata.columns[b].offset; });
  std::uint64_t end = 0;
  for (const int i : order) {
    const ColumnRange& range = metadata.columns[i];
    if (range.bytes == 0) continue;
    const std::string name = kColumnNames[i];
    if (range.offset % kBorder != 0) {
      return InvalidData(name + ": expected an offset on a 64-byte border, got " +
                         std::to_string(range.offset));
    }
    if (std::uint64_t{range.offset} + range.bytes > block_bytes) {
      return InvalidData(name + ": reaches beyond the end of the block of " +
                         std::to_string(block_bytes) + " bytes");
    }
    if (range.offset < end) return InvalidData(name + ": lies on another column");
    end = std::uint64_t{range.offset} + range.bytes;
  }
  return Status();
}

Status CheckSizes(const Experience& metadata, const TrajectoryLayout& layout) {
  if (metadata.steps > static_cast<std::uint32_t>(layout.length)) {
    return InvalidData("steps: expected at most " + std::to_string(layout.length) + ", got " +
                       std::to_string(metadata.steps));
  }
  const std::size_t steps = metadata.steps;
  for (const Column column :
       {Column::kObservation, Column::kAction, Column::kLogProb, Column::kReward, Column::kFlags,
        Column::kNextObservation, Column::kMask, Column::kState0, Column::kFrames0}) {
    const std::size_t expected = layout.FilledBytes(column, steps), got = Bytes(metadata, column);
    if (column == Column::kMask && got == 0) continue;
    if (got != expected) return WrongBytes(static_cast<int>(column), expected, got);
  }
  const std::size_t row = layout.row_bytes();
  const std::size_t finals = Bytes(metadata, Column::kFinalObservation);
  if (finals % row != 0 || finals / row > static_cast<std::size_t>(layout.max_finals)) {
    return InvalidData("final_observation: expected up to " + std::to_string(layout.max_finals) +
                       " rows of " + std::to_string(row) + " bytes, got " + std::to_string(finals) +
                       " bytes");
  }
  const std::size_t episodes = Bytes(metadata, Column::kEpisodes);
  if (episodes % sizeof(EpisodeRecord) != 0 ||
      episodes / sizeof(EpisodeRecord) > static_cast<std::size_t>(layout.max_episodes)) {
    return InvalidData("episodes: expected up to " + std::to_string(layout.max_episodes) +
                       " records of 16 bytes, got " + std::to_string(episodes) + " bytes");
  }
  return Status();
}

template <typename Element>
std::span<const Element> Cut(const Experience& metadata, std::span<const std::byte> block,
                             Column column) {
  const ColumnRange& range = metadata.columns[static_cast<int>(column)];
  if (range.bytes == 0) return {};
  return {reinterpret_cast<const Element*>(block.data() + range.offset),
          range.bytes / sizeof(Element)};
}

}  // namespace

Status ViewTrajectory(const Experience& metadata, std::span<const std::byte> block,
                      const TrajectoryLayout& layout, TrajectoryView* view) {
  if (reinterpret_cast<std::uintptr_t>(block.data()) % alignof(EpisodeRecord) != 0) {
    return InvalidData("the block must be copied to an 8-byte border first");
  }
  if (Status status = CheckSizes(metadata, layout); !status.ok()) return status;
  if (Status status = CheckOffsets(metadata, block.size()); !status.ok()) return status;
  view->agent = metadata.agent;
  view->first_step = metadata.first_step;
  view->version = metadata.version;
  view->changes = metadata.changes;
  view->steps = static_cast<int>(metadata.steps);
  view->observation = Cut<std::byte>(metadata, block, Column::kObservation);
  view->action = Cut<std::int32_t>(metadata, block, Column::kAction);
  view->log_prob = Cut<float>(metadata, block, Column::kLogProb);
  view->reward = Cut<float>(metadata, block, Column::kReward);
  view->flags = Cut<std::uint8_t>(metadata, block, Column::kFlags);
  view->final_observation = Cut<std::byte>(metadata, block, Column::kFinalObservation);
  view->next_observation = Cut<std::byte>(metadata, block, Column::kNextObservation);
  view->episodes = Cut<EpisodeRecord>(metadata, block, Column::kEpisodes);
  view->mask = Cut<std::uint8_t>(metadata, block, Column::kMask);
  view->state0 = Cut<float>(metadata, block, Column::kState0);
  view->frames0 = Cut<std::byte>(metadata, block, Column::kFrames0);
  return Status();
}

}  // namespace murmurate::wire
