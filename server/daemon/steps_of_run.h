// StepsOfRun: how far another run on this host is, as its own process says.
#pragma once

#include <cstdint>
#include <string>

#include "murmurate/status.h"

namespace murmurate {

/// The steps that the first model of the learner in that run folder has learned from, or the version
/// of the first model of the shard there. kUnavailable: it does not answer, or has no model yet.
Result<std::uint64_t> StepsOfRun(const std::string& folder);

}  // namespace murmurate
