#include "server/stream/quantile_tracker.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace murmurate {
namespace {

constexpr float kScaleOver = 20.0f;  ///< errors that the scale remembers, and a device has before
                                     ///< it teaches the pool
constexpr float kPoolPace = 0.25f;   ///< of a device's steps
constexpr double kMostStep = 10.0;   ///< scales
constexpr double kMeanOfNormal = 0.79788456080286536;  ///< sqrt(2 / pi): the mean |x|

/// The x below which a standard normal number lies with this probability, by bisection.
double NormalQuantile(double probability) {
  double low = -10.0, high = 10.0;
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (0.5 * std::erfc(-middle * M_SQRT1_2) < probability ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

}  // namespace

QuantileTracker::QuantileTracker(std::span<const double> levels, int horizon)
    : levels_(levels.begin(), levels.end()) {
  for (const double level : levels_) {
    const double rarely = std::min(level, 1.0 - level) * std::max(horizon, 1);
    const double step = 0.06 / std::sqrt(rarely);
    steps_.push_back(static_cast<float>(std::min(step, kMostStep)));
    pool_.push_back(static_cast<float>(NormalQuantile(level) / kMeanOfNormal));
  }
}

void QuantileTracker::WriteOffsets(std::span<const float> track, std::span<float> offsets) const {
  if (track[kCount] == 0.0f) {
    std::ranges::fill(offsets, std::numeric_limits<float>::quiet_NaN());
    return;
  }
  for (std::size_t i = 0; i < levels_.size(); ++i) offsets[i] = ScaleOf(track) * track[kLevels + i];
  std::ranges::sort(offsets);  // they are tracked one by one, and may cross
}

/// Larger while it is known from few.
float QuantileTracker::ScaleOf(std::span<const float> track) {
  return track[kScale] * (1.0f + 1.0f / (track[kCount] + 1.0f));
}

void QuantileTracker::Update(float error, std::span<const float> offsets, std::span<float> track) {
  float& count = track[kCount];
  if (count == 0.0f) std::ranges::copy(pool_, track.begin() + kLevels);
  const float scale = ScaleOf(track);
  for (std::size_t i = 0; i < levels_.size() && count > 0.0f; ++i) {
    if (!std::isnan(offsets[i])) Move(i, error, offsets[i], 1.0f, &track[kLevels + i]);
    if (count >= kScaleOver) Move(i, error, scale * pool_[i], kPoolPace, &pool_[i]);
  }
  count = std::min(count + 1.0f, kScaleOver);
  track[kScale] += (std::abs(error) - track[kScale]) / count;
}

void QuantileTracker::GoOnFrom(std::span<const float> pool) {
  std::ranges::copy(pool, pool_.begin());
}

/// A value that lies on a quantile is inside, whichever side that is.
void QuantileTracker::Move(std::size_t level, float error, float quantile, float pace,
                           float* q) const {
  const auto share = static_cast<float>(levels_[level]);
  const bool lower = share < 0.5f;
  const bool below = lower ? error < quantile : error <= quantile;
  *q += pace * steps_[level] * (share - (below ? 1.0f : 0.0f));
  if (share != 0.5f) *q = lower ? std::min(*q, 0.0f) : std::max(*q, 0.0f);
}

}  // namespace murmurate
