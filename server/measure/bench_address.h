// Where the parts of a bench that talk to each other meet.
#pragma once

#include <string>

#include "murmurate/status.h"

namespace murmurate {

/// An ipc address in this process's folder of sockets that has room for its sisters. kResource: there
/// is no such folder, or its path is too long for an address.
Result<std::string> BenchAddress(const std::string& name);

}  // namespace murmurate
