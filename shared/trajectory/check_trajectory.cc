#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "shared/core/check.h"
#include "shared/trajectory/finite.h"
#include "shared/trajectory/trajectory.h"

namespace murmurate {
namespace {

using Element = ObservationInput::Element;

Status NotFinite(const char* column, std::span<const float> values, std::size_t row_width) {
  const auto bad =
      std::find_if(values.begin(), values.end(), [](float x) { return !std::isfinite(x); });
  const std::size_t place = static_cast<std::size_t>(bad - values.begin());
  return InvalidData(std::string(column) + " of step " + std::to_string(place / row_width) +
                     ": expected finite numbers, got " + std::to_string(*bad) +
                     "; look for a division by zero in the game");
}

Status At(const char* column, std::size_t step, const Status& wrong) {
  return InvalidData(std::string(column) + " of step " + std::to_string(step) + ": " +
                     wrong.message());
}

Status WrongCount(const char* column, std::size_t expected, std::size_t got) {
  return InvalidData(std::string(column) + ": expected " + std::to_string(expected) +
                     " numbers, got " + std::to_string(got));
}

Status WrongBytes(const char* column, std::size_t expected, std::size_t got) {
  return InvalidData(std::string(column) + ": expected " + std::to_string(expected) +
                     " bytes, got " + std::to_string(got));
}

Status CheckRowColumns(const TrajectoryView& view, const TrajectoryLayout& layout) {
  const std::size_t steps = static_cast<std::size_t>(view.steps);
  const auto check = [&](const char* name, Column column, std::span<const std::byte> got) {
    const std::size_t expected = layout.FilledBytes(column, steps);
    return got.size() == expected ? Status() : WrongBytes(name, expected, got.size());
  };
  MURMURATE_RETURN_IF_ERROR(check("observation", Column::kObservation, view.observation));
  MURMURATE_RETURN_IF_ERROR(
      check("next_observation", Column::kNextObservation, view.next_observation));
  MURMURATE_RETURN_IF_ERROR(check("frames0", Column::kFrames0, view.frames0));
  return check("state0", Column::kState0, std::as_bytes(view.state0));
}

Status CheckSizes(const TrajectoryView& view, const TrajectoryLayout& layout) {
  if (view.steps < 0 || view.steps > layout.length) {
    return InvalidData("steps: expected 0 to " + std::to_string(layout.length) + ", got " +
                       std::to_string(view.steps));
  }
  MURMURATE_RETURN_IF_ERROR(CheckRowColumns(view, layout));
  if (!view.changes.empty() && view.changes.all().back().step >= view.steps)
    return InvalidData("version changes: expected before step " + std::to_string(view.steps) +
                       ", got step " + std::to_string(view.changes.all().back().step));
  const std::size_t steps = static_cast<std::size_t>(view.steps);
  const std::size_t words = steps * static_cast<std::size_t>(layout.action.words());
  const std::size_t mask = steps * static_cast<std::size_t>(layout.action.mask_bytes());
  if (view.action.size() != words) return WrongCount("action", words, view.action.size());
  if (view.log_prob.size() != steps) return WrongCount("log_prob", steps, view.log_prob.size());
  if (view.reward.size() != steps) return WrongCount("reward", steps, view.reward.size());
  if (view.flags.size() != steps) return WrongCount("flags", steps, view.flags.size());
  if (!view.mask.empty() && view.mask.size() != mask) {
    return WrongBytes("mask", mask, view.mask.size());
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
  if (view.final_observation.size() != truncations * layout.row_bytes()) {
    return WrongBytes("final_observation", truncations * layout.row_bytes(),
                      view.final_observation.size());
  }
  return {};
}

/// The usual case, in a loop that a vector unit runs.
Status CheckChoices(const TrajectoryView& view, int choices) {
  const auto outside = [choices](std::int32_t action) {
    return static_cast<std::uint32_t>(action) >= static_cast<std::uint32_t>(choices);
  };
  bool any = false;
  for (const std::int32_t action : view.action) any |= outside(action);
  if (!any) return {};
  const auto bad = std::find_if(view.action.begin(), view.action.end(), outside);
  return InvalidData("action of step " + std::to_string(bad - view.action.begin()) +
                     ": expected 0 to " + std::to_string(choices - 1) + ", got " +
                     std::to_string(*bad));
}

Status CheckActions(const TrajectoryView& view, const ActionLayout& action) {
  if (action.one_choice() && view.mask.empty()) {
    return CheckChoices(view, action.parts()[0].choices[0]);
  }
  for (int step = 0; step < view.steps; ++step) {
    const std::size_t i = static_cast<std::size_t>(step);
    const std::uint8_t* mask = view.mask.empty() ? nullptr : &view.mask[i * action.mask_bytes()];
    Status status = mask == nullptr ? Status() : action.CheckMask(mask);
    if (!status.ok()) return At("mask", i, status);
    status = action.CheckAction(&view.action[i * action.words()], mask);
    if (!status.ok()) return At("action", i, status);
  }
  return {};
}

/// A density may lie above 1, a probability not.
Status CheckLogProbabilities(const TrajectoryView& view, const ActionLayout& action) {
  if (!AllFinite(view.log_prob)) return NotFinite("log_prob", view.log_prob, 1);
  for (const ActionPart& part : action.parts()) {
    if (part.kind == ActionPart::Kind::kContinuous) return {};
  }
  const auto bad = std::find_if(view.log_prob.begin(), view.log_prob.end(),
                                [](float log_prob) { return log_prob > 1e-3f; });
  if (bad == view.log_prob.end()) return {};
  return InvalidData("log_prob of step " + std::to_string(bad - view.log_prob.begin()) +
                     ": expected a number <= 0, got " + std::to_string(*bad));
}

bool AnyNumbers(const ObservationLayout& layout) {
  return std::any_of(
      layout.inputs().begin(), layout.inputs().end(),
      [](const ObservationInput& input) { return input.element != Element::kUint8; });
}

Status CheckRows(const char* column, std::span<const std::byte> rows,
                 const ObservationLayout& layout) {
  if (layout.plain()) {
    const std::span<const float> numbers = NumbersOf(rows);
    if (AllFinite(numbers)) return {};
    return NotFinite(column, numbers, layout.row_bytes() / sizeof(float));
  }
  if (!AnyNumbers(layout)) return {};
  for (std::size_t i = 0; i < rows.size() / layout.row_bytes(); ++i) {
    const Status status = layout.Check(rows.data() + i * layout.row_bytes());
    if (!status.ok()) return At(column, i, status);
  }
  return {};
}

bool FiniteRows(std::span<const std::byte> rows, const ObservationLayout& layout) {
  for (std::size_t at = 0; at < rows.size(); at += layout.row_bytes()) {
    for (const ObservationInput& input : layout.inputs()) {
      if (input.element != Element::kFloat32) continue;
      const auto numbers = rows.subspan(at + input.offset_bytes, input.size_bytes());
      if (!AllFinite(NumbersOf(numbers))) return false;
    }
  }
  return true;
}

bool FiniteActions(const TrajectoryView& view, const ActionLayout& action) {
  for (const ActionPart& part : action.parts()) {
    if (part.kind != ActionPart::Kind::kContinuous) continue;
    for (int step = 0; step < view.steps; ++step) {
      for (int i = 0; i < part.count; ++i) {
        const std::int32_t word = view.action[step * action.words() + part.first_word + i];
        if (!std::isfinite(std::bit_cast<float>(word))) return false;
      }
    }
  }
  return true;
}

}  // namespace

Status CheckTrajectory(const TrajectoryView& view, const TrajectoryLayout& layout) {
  MURMURATE_RETURN_IF_ERROR(CheckAllButObservations(view, layout));
  return CheckObservations(view, layout);
}

Status CheckObservations(const TrajectoryView& view, const TrajectoryLayout& layout) {
  return CheckRows("observation", view.observation, layout.observation);
}

Status CheckAllButObservations(const TrajectoryView& view, const TrajectoryLayout& layout) {
  MURMURATE_RETURN_IF_ERROR(CheckSizes(view, layout));
  MURMURATE_RETURN_IF_ERROR(CheckFlags(view, layout));
  MURMURATE_RETURN_IF_ERROR(CheckActions(view, layout.action));
  MURMURATE_RETURN_IF_ERROR(CheckLogProbabilities(view, layout.action));
  if (!AllFinite(view.reward)) return NotFinite("reward", view.reward, 1);
  if (!AllFinite(view.state0)) return NotFinite("state0", view.state0, view.state0.size());
  const ObservationLayout& rows = layout.observation;
  MURMURATE_RETURN_IF_ERROR(CheckRows("final_observation", view.final_observation, rows));
  MURMURATE_RETURN_IF_ERROR(CheckRows("next_observation", view.next_observation, rows));
  MURMURATE_RETURN_IF_ERROR(CheckRows("frames0", view.frames0, rows));
  for (const EpisodeRecord& episode : view.episodes) {
    if (!std::isfinite(episode.raw_return) || episode.mode > 2 || episode.success > 2) {
      return InvalidData(
          "episodes: expected a finite return, mode 0 to 2 and success 0 to 2, got " +
          std::to_string(episode.raw_return) + ", " + std::to_string(episode.mode) + " and " +
          std::to_string(episode.success));
    }
  }
  return {};
}

bool HoldsFiniteNumbers(const TrajectoryView& view, const TrajectoryLayout& layout) {
  const ObservationLayout& rows = layout.observation;
  return AllFinite(view.log_prob) && AllFinite(view.reward) && AllFinite(view.state0) &&
         FiniteRows(view.observation, rows) && FiniteRows(view.final_observation, rows) &&
         FiniteRows(view.next_observation, rows) && FiniteRows(view.frames0, rows) &&
         FiniteActions(view, layout.action) &&
         std::all_of(view.episodes.begin(), view.episodes.end(),
                     [](const EpisodeRecord& e) { return std::isfinite(e.raw_return); });
}

}  // namespace murmurate
