// The numbers of a row under the names that all files have for them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "server/metrics/reading.h"

namespace murmurate {

/// The label of a sample; what a game reports under a word of its own is of training: "kills" is
/// "rollout/kills".
std::string ReportedName(const MetricSample& sample);

/// Counts and numbers of metrics that are in files, in the order of the reading.
std::vector<std::pair<std::string, MetricValue>> RowValues(const Reading& reading);

}  // namespace murmurate
