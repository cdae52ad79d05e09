// ForSession: what the session is told of a model that the daemon offers.
#pragma once

#include <string>

#include "server/ingest/ingest.h"

namespace murmurate {

/// Bytes of the largest trajectory that a message holds.
std::size_t MostTrajectoryBytes();

/// Refused when one of its trajectories is larger than a message may be. `shm`: clients of this
/// host are told of its segment.
Result<wire::SessionModel> ForSession(const std::string& name, const OfferedModel& offered,
                                      bool shm);

}  // namespace murmurate
