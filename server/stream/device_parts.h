// Saves and loads the numbers of a stream's devices in checkpoints: each part of DeviceShape is
// stored under its name, for all devices one after the other in the order in which they are given.
//
// Format 1, which had no entry "format", kept all parts of a device in one block of float32;
// LoadBlocks reads it, so that runs saved in it can be resumed.
#pragma once

#include <span>

#include "murmurate/status.h"
#include "server/stream/device.h"
#include "shared/model/state.h"

namespace murmurate {

void SaveParts(const DeviceShape& shape, std::span<const StreamDevice* const> devices,
               const StateWriter& writer);
/// Fills the numbers of devices of this shape. kInvalidData: a part is missing or of another size.
Status LoadParts(const DeviceShape& shape, std::span<StreamDevice* const> devices,
                 const StateReader& reader);

/// The number of float32 that a device of format 1 had.
std::size_t BlockFloats(const DeviceShape& shape);
/// Loads as LoadParts does, from a checkpoint of format 1.
Status LoadBlocks(const DeviceShape& shape, std::span<StreamDevice* const> devices,
                  const StateReader& reader);

}  // namespace murmurate
