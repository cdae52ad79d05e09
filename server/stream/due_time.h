// DueTime: when a forecast's row is due.
#pragma once

#include <cstdint>

#include "server/stream/forecast.h"

namespace murmurate {

/// The time of the row `horizon` rows after the forecast's: on a grid of `every_s`, or, with 0,
/// after so many usual gaps. Nanoseconds since 1970 (UTC), at most kMaxTimeNs.
std::int64_t DueTime(const Forecast& forecast, double every_s, int horizon);

}  // namespace murmurate
