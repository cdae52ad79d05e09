#include "shared/experience/trajectory.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "shared/core/check.h"
#include "shared/experience/finite.h"

namespace murmurate {
namespace {

constexpr std::size_t kLine = 64;

std::uint32_t RoundUp(std::size_t bytes) {
  return static_cast<std::uint32_t>((bytes + kLine - 1) / kLine * kLine);
}

Status NotFinite(const char* column, std::span<const float> values, std::size_t row_width) {
  const auto bad =
      std::find_if(values.begin(), values.end(), [](float x) { return !std::isfinite(x); });
  const std::size_t place = static_cast<std::size_t>(bad - values.begin());
  return InvalidData(std::string(column) + " of step " + std::to_string(place / row_width) +
                     ": expected finite numbers, got " + std::to_string(*bad) +
                     "; look for a division by zero in the game");
}

Status WrongCount(const char* column, std::size_t expected, std::size_t got) {
  return InvalidData(std::string(column) + ": expected " + std::to_string(expected) +
                     " numbers, got " + std::to_string(got));
}

Status CheckSizes(const TrajectoryView& view, const TrajectoryLayout& layout) {
  if (view.steps < 0 || view.steps > layout.length) {
    return InvalidData("steps: expected 0 to " + std::to_string(layout.length) + ", got " +
                       std::to_string(view.steps));
  }
  const std::size_t steps = static_cast<std::size_t>(view.steps);
  const std::size_t width = static_cast<std::size_t>(layout.observation_count);
  if (view.observation.size() != steps * width) {
    return WrongCount("observation", steps * width, view.observation.size());
  }
  if (view.action.size() != steps) return WrongCount("action", steps, view.action.size());
  if (view.log_prob.size() != steps) return WrongCount("log_prob", steps, view.log_prob.size());
  if (view.reward.size() != steps) return WrongCount("reward", steps, view.reward.size());
  if (view.flags.size() != steps) return WrongCount("flags", steps, view.flags.size());
  const std::size_t next = steps == 0 ? 0 : width;
  if (view.next_observation.size() != next) {
    return WrongCount("next_observation", next, view.next_observation.size());
  }
  return {};
}

constexpr int kEnds = kTerminatedFlag | kTruncatedFlag;

Status BadFlags(const TrajectoryView& view, int step) {
  const std::uint8_t flags = view.flags[step];
  const std::string at = "flags of step " + std::to_string(step) + ": ";
  if ((flags & ~(kFirst | kEnds)) != 0) {
    return InvalidData(at + "expected first, terminated or truncated, got bits " +
                       std::to_string(flags));
  }
  if ((flags & kEnds) == kEnds) {
    return InvalidData(at + "an episode ends once: terminated or truncated, got both");
  }
  return InvalidData(at + "`first` must be set exactly on a step that follows an end");
}

Status CheckFlags(const TrajectoryView& view, const TrajectoryLayout& layout) {
  const std::size_t width = static_cast<std::size_t>(layout.observation_count);
  std::size_t truncations = 0;
  for (int step = 0; step < view.steps; ++step) {
    const std::uint8_t flags = view.flags[step];
    const bool follows_end = step > 0 && (view.flags[step - 1] & kEnds) != 0;
    const bool first = (flags & kFirst) != 0;
    if ((flags & ~(kFirst | kEnds)) != 0 || (flags & kEnds) == kEnds ||
        (step > 0 && follows_end != first)) {
      return BadFlags(view, step);
    }
    truncations += (flags & kTruncatedFlag) != 0;
  }
  if (truncations > static_cast<std::size_t>(layout.max_finals)) {
    return InvalidData("flags: expected at most " + std::to_string(layout.max_finals) +
                       " truncated steps in one trajectory, got " + std::to_string(truncations));
  }
  if (view.final_observation.size() != truncations * width) {
    return WrongCount("final_observation", truncations * width, view.final_observation.size());
  }
  return {};
}

Status CheckActions(const TrajectoryView& view, int choices) {
  for (int step = 0; step < view.steps; ++step) {
    if (view.action[step] < 0 || view.action[step] >= choices) {
      return InvalidData("action of step " + std::to_string(step) + ": expected 0 to " +
                         std::to_string(choices - 1) + ", got " +
                         std::to_string(view.action[step]));
    }
    if (view.log_prob[step] > 1e-3f) {
      return InvalidData("log_prob of step " + std::to_string(step) +
                         ": expected a number <= 0, got " + std::to_string(view.log_prob[step]));
    }
  }
  return {};
}

}  // namespace

TrajectoryLayout::TrajectoryLayout(const Spaces& spaces, int steps)
    : length(steps),
      observation_count(spaces.observation.element_count()),
      max_finals(std::max(1, steps / 8)),
      max_episodes(steps + 64) {
  MURMURATE_CHECK(length >= 1 && observation_count >= 1, "an empty trajectory has no layout");
  const std::size_t row = sizeof(float) * static_cast<std::size_t>(observation_count);
  const std::size_t t = static_cast<std::size_t>(length);
  const auto place = [this](Column column, std::size_t bytes) {
    columns[static_cast<int>(column)] = {static_cast<std::uint32_t>(block_bytes),
                                         static_cast<std::uint32_t>(bytes)};
    block_bytes += RoundUp(bytes);
  };
  place(Column::kObservation, t * row);
  place(Column::kAction, t * sizeof(std::int32_t));
  place(Column::kLogProb, t * sizeof(float));
  place(Column::kReward, t * sizeof(float));
  place(Column::kFlags, t);
  place(Column::kNextObservation, row);
  place(Column::kEpisodes, static_cast<std::size_t>(max_episodes) * sizeof(EpisodeRecord));
  place(Column::kFinalObservation, static_cast<std::size_t>(max_finals) * row);
}

Status CheckTrajectory(const TrajectoryView& view, const TrajectoryLayout& layout,
                       const Spaces& spaces) {
  MURMURATE_RETURN_IF_ERROR(CheckAllButObservations(view, layout, spaces));
  return CheckObservations(view);
}

Status CheckObservations(const TrajectoryView& view) {
  if (AllFinite(view.observation)) return {};
  return NotFinite("observation", view.observation, view.next_observation.size());
}

Status CheckAllButObservations(const TrajectoryView& view, const TrajectoryLayout& layout,
                               const Spaces& spaces) {
  MURMURATE_RETURN_IF_ERROR(CheckSizes(view, layout));
  const std::size_t width = static_cast<std::size_t>(layout.observation_count);
  MURMURATE_RETURN_IF_ERROR(CheckFlags(view, layout));
  MURMURATE_RETURN_IF_ERROR(CheckActions(view, spaces.action.n));
  if (!AllFinite(view.reward)) return NotFinite("reward", view.reward, 1);
  if (!AllFinite(view.log_prob)) return NotFinite("log_prob", view.log_prob, 1);
  if (!AllFinite(view.final_observation)) {
    return NotFinite("final_observation", view.final_observation, width);
  }
  if (!AllFinite(view.next_observation)) {
    return NotFinite("next_observation", view.next_observation, width);
  }
  for (const EpisodeRecord& episode : view.episodes) {
    if (!std::isfinite(episode.raw_return) || episode.mode > 1) {
      return InvalidData("episodes: expected a finite return and mode 0 or 1, got " +
                         std::to_string(episode.raw_return) + " and " +
                         std::to_string(episode.mode));
    }
  }
  return {};
}

}  // namespace murmurate
