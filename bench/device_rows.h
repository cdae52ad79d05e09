// Rows of docs/performance.md that are no training step of a model.
#pragma once

#include <nlohmann/json.hpp>

#include "murmurate/status.h"
#include "server/compute/device/device.h"

namespace murmurate {

/// Norm, clip and Adam over 100 million numbers, recorded and replayed.
Result<nlohmann::json> MeasureAdam(Device* device, bool small, int rounds);

/// From parameters on the device to a reader that has copied them out of shared memory, by way of
/// pinned memory and a snapshot: what a learner with a device does after a batch.
Result<nlohmann::json> MeasurePublishing(Device* device, bool small, int rounds);

}  // namespace murmurate
