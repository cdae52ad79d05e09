// Converts the options that a C program sets once to those of the C++ client.
#pragma once

#include "client/agent_core.h"
#include "client/c_abi/structs.h"
#include "murmurate/client.h"

namespace murmurate::c_abi {

/// Converts all but the log.
mmr_status Convert(const mmr_client_options& given, ClientOptions* out);
/// Converts agent options; NewAgent checks whether they make sense.
mmr_status ReadAgentOptions(const mmr_agent_options* given, AgentOptions* out);

}  // namespace murmurate::c_abi
