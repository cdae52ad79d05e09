// Stand-in: the branch step11-cuda has the real one.
#pragma once

#include <memory>
#include <string>

#include "murmurate/status.h"
#include "server/compute/device/device.h"

namespace murmurate {

/// Opens "cuda" or "cuda:N". kResource, in one sentence: what is missing.
Result<std::unique_ptr<Device>> OpenDevice(const std::string& name, DevicePrecision precision,
                                           bool deterministic);

}  // namespace murmurate
