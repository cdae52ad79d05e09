#include "server/operate/recent_rate.h"

namespace murmurate {

double RecentRate::PerSecond(std::uint64_t count, std::int64_t now_ns) {
  while (samples_.size() > 1 && now_ns - samples_.front().at_ns > kWindowNs) samples_.pop_front();
  const Sample oldest = samples_.front();
  if (now_ns - samples_.back().at_ns >= kSpacingNs) samples_.push_back({now_ns, count});
  const double seconds = static_cast<double>(now_ns - oldest.at_ns) * 1e-9;
  return seconds > 0 && count >= oldest.count ? static_cast<double>(count - oldest.count) / seconds
                                              : 0.0;
}

}  // namespace murmurate
