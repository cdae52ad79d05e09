// When the rows are due that a forecast speaks of.
#pragma once

#include <cstdint>

#include "server/stream/forecaster.h"

namespace murmurate {

/// Of the row `horizon` rows after the forecast's: on a grid of `every_s`, or, with 0, after so
/// many usual gaps. Since 1970 (UTC), at most kMaxTimeNs.
std::int64_t DueTime(const Forecast& forecast, double every_s, int horizon);

}  // namespace murmurate
