// The sink metrics.jsonl: an object a row, in the order of the rows:
//
//   {"model":"default","time":1764162000.25,"steps":4096,"rollout/ep_rew_mean":21.5, ...}
//
// `time` is in seconds since 1970 began, `steps` are environment steps; then each number of the row
// under its name, also those that a game reports. What has no value is not there. A resumed run
// cuts the file off before the first row that is not whole, or that a lost life wrote behind the
// environment steps or the trained steps it goes on from.
#pragma once

#include "server/metrics/metric_sink.h"

namespace murmurate {

Result<std::unique_ptr<MetricSink>> OpenJsonLinesFile(const SinkTarget& target);

}  // namespace murmurate
