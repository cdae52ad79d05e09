// What a C program says once, as the C++ client takes it.
#pragma once

#include "client/agent_core.h"
#include "client/c_abi/structs.h"
#include "murmurate/client.h"

namespace murmurate::c_abi {

/// All but the log.
mmr_status Convert(const mmr_client_options& given, ClientOptions* out);
/// Whether they make sense is for NewAgent to say.
mmr_status ReadAgentOptions(const mmr_agent_options* given, AgentOptions* out);

}  // namespace murmurate::c_abi
