#include "server/ingest/batch_sizing.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "shared/core/clock.h"

namespace murmurate {
namespace {

constexpr std::int64_t kSteadyNs = 500'000'000;  ///< since which the number of agents stays
constexpr std::int64_t kLastsNs = 10 * kNanosecondsPerSecond;     ///< fewer, or slower
constexpr std::int64_t kMeasuredNs = 10 * kNanosecondsPerSecond;  ///< a speed
constexpr double kLongestBatchS = 60.0;

std::string InWords(int agents) {
  return std::to_string(agents) + (agents == 1 ? " agent plays" : " agents play");
}

}  // namespace

BatchShape ShapeFor(const BatchShape& configured, const BatchSizing& sizing, int agents,
                    double steps_per_s) {
  const std::int64_t playing = std::max(agents, 1);
  const int configured_steps = configured.steps();
  std::int64_t steps = configured_steps, length = configured.length;
  const auto shorten = [&](std::int64_t most_under_way, int least) {
    if (!sizing.length_free) return;
    while (playing * length > most_under_way && length % 2 == 0 && length / 2 >= least) length /= 2;
  };
  shorten(steps, sizing.least_length);
  if (sizing.steps_free) {
    while (playing * length > 2 * steps && 2 * steps <= sizing.most_steps) steps *= 2;
    const auto slow = [&] { return steps_per_s > 0 && steps > kLongestBatchS * steps_per_s; };
    while (slow() && steps % (2 * length) == 0 && steps / 2 >= 2 * length &&
           steps / 2 >= std::max<std::int64_t>(sizing.least_steps, playing * length))
      steps /= 2;
  }
  shorten(2 * steps, sizing.least_length / 2);
  return {static_cast<int>(length), static_cast<int>(steps / length)};
}

void BatchFit::MeasureSpeed(int agents, std::uint64_t steps, std::int64_t now_ns) {
  if (measured_since_ns_ < 0 || agents != agents_) {
    steps_per_s_ = agents_ > 0 ? steps_per_s_ * agents / agents_ : 0;
    measured_since_ns_ = now_ns;
    steps_before_ = steps;
    return;
  }
  const std::int64_t passed = now_ns - measured_since_ns_;
  if (passed < kMeasuredNs) return;
  steps_per_s_ = static_cast<double>(steps - steps_before_) * 1e9 / static_cast<double>(passed);
  measured_since_ns_ = now_ns;
  steps_before_ = steps;
}

bool BatchFit::Lasts(const BatchShape& wanted, bool first, std::int64_t now_ns) {
  if (wanted != wanted_) {
    wanted_ = wanted;
    wanted_since_ns_ = now_ns;
  }
  const bool late = wanted.length < shape_.length || wanted.steps() > shape_.steps();
  const bool steady = first || now_ns - agents_since_ns_ >= kSteadyNs;
  return steady && (late || now_ns - wanted_since_ns_ >= kLastsNs);
}

std::optional<BatchShape> BatchFit::Follow(int agents, std::uint64_t steps, std::int64_t now_ns) {
  if (!sizing_.free()) return std::nullopt;
  MeasureSpeed(agents, steps, now_ns);
  if (agents != agents_) agents_since_ns_ = now_ns;
  agents_ = agents;
  if (agents == 0) return std::nullopt;
  const BatchShape wanted = ShapeFor(configured_, sizing_, agents, steps_per_s_);
  if (!Lasts(wanted, !std::exchange(seen_, true), now_ns) || wanted == shape_) return std::nullopt;
  // Of fewer agents: not for a few of them that come back.
  const BatchShape for_more = ShapeFor(configured_, sizing_, agents + agents / 2, steps_per_s_);
  const bool longer = wanted.length > shape_.length || wanted.steps() < shape_.steps();
  if (longer && for_more == shape_) return std::nullopt;
  shape_ = wanted;
  reason_ = InWords(agents);
  if (wanted.steps() < configured_.steps()) {
    char speed[48];
    std::snprintf(speed, sizeof speed, ", %.3g steps a second together", steps_per_s_);
    reason_ += speed;
  }
  return shape_;
}

}  // namespace murmurate
