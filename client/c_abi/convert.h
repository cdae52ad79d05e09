// What a C program says, as the C++ client takes it.
#pragma once

#include "client/agent_core.h"
#include "client/c_abi/structs.h"
#include "murmurate/client.h"

namespace murmurate::c_abi {

/// All but the log.
mmr_status Convert(const mmr_client_options& given, ClientOptions* out);
/// Whether they make sense is for NewAgent to say.
mmr_status ReadAgentOptions(const mmr_agent_options* given, AgentOptions* out);
/// Views of the caller's memory, for as long as that is there.
mmr_status Convert(const mmr_observation* given, Observation* out);
/// What an mmr_action of a space holds.
struct ActionCounts {
  explicit ActionCounts(const ActionLayout& layout);
  std::uint64_t choices = 0, numbers = 0;
};
/// Its buffers are there, and of the space's counts.
mmr_status ReadAction(const mmr_action* given, const ActionCounts& counts, mmr_action* out);

}  // namespace murmurate::c_abi
