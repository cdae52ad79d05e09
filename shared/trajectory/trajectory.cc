#include "shared/trajectory/trajectory.h"

#include <algorithm>

#include "shared/core/check.h"
#include "shared/model/network_plan.h"

namespace murmurate {
namespace {

constexpr std::size_t kLine = 64;

std::size_t RoundUp(std::size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

int StateFloats(const ModelSpec& spec) {
  if (!spec.recurrent()) return 0;
  const auto plan = PlanNetwork(spec, spec.policy().name);
  MURMURATE_CHECK(plan.ok(), "the spec has passed CheckModel");
  return plan->state_floats;
}

int FramesBefore(const ModelSpec& spec) {
  int frames = 0;
  for (const NetworkSpec& network : spec.networks)
    for (const InputEncoder& encoder : network.encoders)
      frames = std::max(frames, encoder.stack - 1);
  return frames;
}

}  // namespace

std::span<const float> NumbersOf(std::span<const std::byte> rows) {
  return {reinterpret_cast<const float*>(rows.data()), rows.size() / sizeof(float)};
}

TrajectoryLayout::TrajectoryLayout(const Spaces& spaces, int steps)
    : TrajectoryLayout(ModelSpec{.spaces = spaces}, steps) {}

TrajectoryLayout::TrajectoryLayout(const ModelSpec& spec, int steps)
    : length(steps),
      observation(spec.row_space()),
      action(spec.spaces.action, spec.continuous),
      state_floats(StateFloats(spec)),
      frames(FramesBefore(spec)),
      max_finals(std::max(1, steps / 8)),
      max_episodes(steps + 64) {
  LayColumns();
}

TrajectoryLayout TrajectoryLayout::Resized(int steps, int finals) const {
  TrajectoryLayout resized = *this;
  resized.length = steps;
  resized.max_finals = finals;
  resized.max_episodes = steps + 64;
  resized.block_bytes = 0;
  resized.LayColumns();
  return resized;
}

void TrajectoryLayout::LayColumns() {
  MURMURATE_CHECK(length >= 1 && row_bytes() >= 1, "an empty trajectory has no layout");
  const std::size_t t = static_cast<std::size_t>(length);
  for (const Column column :
       {Column::kObservation, Column::kAction, Column::kLogProb, Column::kReward, Column::kFlags,
        Column::kNextObservation, Column::kState0, Column::kFrames0}) {
    AddColumn(column, FilledBytes(column, t));
  }
  AddColumn(Column::kFinalObservation, static_cast<std::size_t>(max_finals) * row_bytes());
  AddColumn(Column::kMask, FilledBytes(Column::kMask, t));
  AddColumn(Column::kEpisodes, static_cast<std::size_t>(max_episodes) * sizeof(EpisodeRecord));
}

void TrajectoryLayout::AddColumn(Column column, std::size_t bytes) {
  columns[static_cast<int>(column)] = {static_cast<std::uint32_t>(block_bytes),
                                       static_cast<std::uint32_t>(bytes)};
  block_bytes += RoundUp(bytes);
}

std::size_t TrajectoryLayout::FilledBytes(Column column, std::size_t steps) const {
  const std::size_t once = steps > 0 ? 1 : 0;
  switch (column) {
    case Column::kObservation:
      return steps * row_bytes();
    case Column::kAction:
      return steps * static_cast<std::size_t>(action.words()) * sizeof(std::int32_t);
    case Column::kLogProb:
    case Column::kReward:
      return steps * sizeof(float);
    case Column::kFlags:
      return steps;
    case Column::kNextObservation:
      return once * row_bytes();
    case Column::kMask:
      return steps * static_cast<std::size_t>(action.mask_bytes());
    case Column::kState0:
      return once * static_cast<std::size_t>(state_floats) * sizeof(float);
    case Column::kFrames0:
      return once * static_cast<std::size_t>(frames) * row_bytes();
    case Column::kFinalObservation:
    case Column::kEpisodes:
      break;
  }
  MURMURATE_CHECK(false, "this column's size does not follow from the steps");
  return 0;
}

}  // namespace murmurate
