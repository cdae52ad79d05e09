// RunDescription: what a run is told, for sinks that keep it beside its numbers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "server/metrics/metric.h"

namespace murmurate {

struct RunDescription {
  std::string config;  ///< resolved, as TOML
  /// The hyperparameters by "section.key".
  std::vector<std::pair<std::string, MetricValue>> settings;
};

}  // namespace murmurate
