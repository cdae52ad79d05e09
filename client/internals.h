// The C++ client's internals that the C interface and scoring use.
#pragma once

#include "client/client_core.h"
#include "murmurate/client.h"

namespace murmurate {

struct Internals {
  static AgentCore& Of(Agent& agent) { return *agent.core_; }
  static ClientCore& Of(Client& client) { return *client.core_; }
};

}  // namespace murmurate
