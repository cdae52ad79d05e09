#include "server/stream/reconnect_delay.h"

#include <algorithm>

#include "shared/core/clock.h"

namespace murmurate {
namespace {

constexpr int kLongestSeconds = 30;
constexpr int kLongestAfter = 5;  // losses

}  // namespace

std::int64_t ReconnectDelay::Next() {
  const int losses = losses_;
  losses_ = std::min(losses + 1, kLongestAfter);
  if (losses == 0) return 0;
  const double longest = std::min(kLongestSeconds, 1 << losses);
  const double seconds = longest / 2 * (1 + random_.UniformDouble());
  return static_cast<std::int64_t>(seconds * static_cast<double>(kNanosecondsPerSecond));
}

}  // namespace murmurate
