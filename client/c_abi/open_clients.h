// The clients that are open in this process. Whichever still is when the library is unloaded or the
// process exits is stopped then, as mmr_close would: no thread of ours runs on in code that is
// gone, and the learner hears a goodbye. The memory stays, as another thread of the host may still
// call. A forked child has none of its parent's.
#pragma once

#include "client/client_core.h"

namespace murmurate::c_abi {

// Any thread.
void AddOpenClient(ClientCore* client);
void RemoveOpenClient(ClientCore* client);

}  // namespace murmurate::c_abi
