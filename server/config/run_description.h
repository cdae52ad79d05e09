// The RunDescription of a configuration (server/metrics/run_description.h).
#pragma once

#include "server/config/config.h"
#include "server/metrics/run_description.h"

namespace murmurate {

/// Its settings are those that say how a run learns: of [environment], [model], [algorithm],
/// [optimizer], [replay], [parameters] and [settings], also of a model's own sections, and of [run]
/// the game, the seed, the actors and their agents. What is not set is left out.
RunDescription DescribeRun(const Config& config);

}  // namespace murmurate
