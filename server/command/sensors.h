// The made-up fleet of sensors is a program of its own, which `murmurate actor sensors` becomes.
#pragma once

#include <string>
#include <vector>

#include "murmurate/status.h"

namespace murmurate {

/// Becomes the program murmurate-sensors (examples/sensors/fleet), which lies beside this
/// executable, with `arguments`. Returns only when that cannot be started.
Status RunSensors(bool quiet, const std::vector<std::string>& arguments);

}  // namespace murmurate
