#include "server/replay/replay_settings.h"

#include <cmath>
#include <limits>

#include "server/metrics/number_text.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

/// The ring's places are numbered by 32 bits.
constexpr std::uint64_t kMostRows = std::numeric_limits<std::uint32_t>::max();

Status CheckSizes(const ReplaySettings& settings, const TrajectoryLayout& layout) {
  if (settings.capacity > kMostRows)
    return InvalidArgument("a replay keeps at most " + WithCommas(kMostRows) + " steps, not " +
                           WithCommas(settings.capacity));
  if (settings.capacity < static_cast<std::uint64_t>(layout.length))
    return InvalidArgument("a replay of " + WithCommas(settings.capacity) +
                           " steps has no room for one trajectory of " +
                           std::to_string(layout.length));
  if (settings.capacity < settings.learning_starts)
    return InvalidArgument("a replay of " + WithCommas(settings.capacity) +
                           " steps never holds the " + WithCommas(settings.learning_starts) +
                           " that learning starts with");
  if (settings.sequence < 0 || settings.sequence % layout.length != 0)
    return InvalidArgument("a sequence has a multiple of " + std::to_string(layout.length) +
                           " steps (a trajectory), not " + std::to_string(settings.sequence));
  if (static_cast<std::uint64_t>(settings.steps_of_sample()) > settings.capacity)
    return InvalidArgument("a sample of " + std::to_string(settings.steps_of_sample()) +
                           " steps is larger than the replay");
  return {};
}

bool Above(double value, double limit) { return std::isfinite(value) && value > limit; }
bool NotNegative(double value) { return std::isfinite(value) && value >= 0; }

}  // namespace

Status CheckReplaySettings(const ReplaySettings& settings, const TrajectoryLayout& layout) {
  MURMURATE_RETURN_IF_ERROR(CheckSizes(settings, layout));
  if (settings.window < 1 || settings.minibatch < 1 || settings.most_updates < 1)
    return InvalidArgument("a replay's window, minibatch and most updates are at least 1");
  if (!Above(settings.samples_per_insert, 0))
    return InvalidArgument("samples per insert are a number above 0");
  if (!NotNegative(settings.priority_exponent) || !NotNegative(settings.importance_exponent))
    return InvalidArgument("the exponents of priorities and of their weights are not below 0");
  if (settings.prioritized() && !Above(settings.priority_floor, 0))
    return InvalidArgument("the floor of priorities is above 0");
  return {};
}

}  // namespace murmurate
