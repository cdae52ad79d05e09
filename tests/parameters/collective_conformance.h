// What every Collective promises, for threads of one process and for an engine alike.
#pragma once

#include <string>

#include "server/parameters/collective.h"

namespace murmurate {

/// Called by every rank. "": all of it held here; else the first promise that did not.
std::string BrokenPromise(Collective& collective);

}  // namespace murmurate
