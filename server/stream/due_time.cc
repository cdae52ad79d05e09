#include "server/stream/due_time.h"

#include <cmath>

#include "server/stream/time_text.h"

namespace murmurate {

std::int64_t DueTime(const Forecast& forecast, double every_s, int horizon) {
  const double step_s = every_s > 0 ? every_s : forecast.gap_s;
  const double ahead_ns = step_s * horizon * 1e9;
  const double room_ns = static_cast<double>(kMaxTimeNs - forecast.time_ns);
  return ahead_ns < room_ns ? forecast.time_ns + std::llround(ahead_ns) : kMaxTimeNs;
}

}  // namespace murmurate
