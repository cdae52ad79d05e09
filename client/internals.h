// What the C interface reaches for behind the C++ one.
#pragma once

#include "client/client_core.h"
#include "murmurate/client.h"

namespace murmurate {

struct Internals {
  static AgentCore& Of(Agent& agent) { return *agent.core_; }
  static ClientCore& Of(Client& client) { return *client.core_; }
};

}  // namespace murmurate
