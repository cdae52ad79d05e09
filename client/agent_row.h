// The row of a step as an agent's model reads it and the learner gets it (RowWriter): what the game
// shows, and where the model has them the step before and the privileged observation. The game's
// thread; no lock, no allocation.
#pragma once

#include <cstddef>
#include <span>

#include "client/agent_action.h"
#include "client/agent_buffers.h"
#include "client/agent_episode.h"
#include "client/agent_observation.h"

namespace murmurate {

/// `fitted`: the agent's buffers, which hold the row; null before it has any. The row is the
/// observation's own where nothing stands behind it. Valid until the next call, and as long as the
/// observation.
std::span<const std::byte> CompleteRow(const AgentBuffers* fitted,
                                       const AgentObservation& observation,
                                       const AgentEpisode& episode, AgentAction& action);

}  // namespace murmurate
