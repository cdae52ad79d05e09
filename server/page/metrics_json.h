// MetricsJson: all numbers of a run by their metrics' names, units and kinds.
#pragma once

#include <span>
#include <string>

#include "server/metrics/reading.h"

namespace murmurate {

/// {"metrics": [{"subject": "model", "of": "default", "name": "train/loss", "label": "", "kind":
/// "gauge", "unit": "", "help": "", "value": 0.5}, ...]}, in one line; what has no value is null.
std::string MetricsJson(std::span<const Reading> readings);

}  // namespace murmurate
