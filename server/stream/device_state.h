// A stream's devices in checkpoints: names, numbers, the sequence numbers that have come, what is
// open, labels, and all parts (device_parts.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "murmurate/status.h"
#include "server/stream/device_table.h"
#include "server/stream/pair_queue.h"
#include "shared/model/state.h"

namespace murmurate {

/// Returns how many pairs a stream loaded from this state can learn, at the farthest horizon.
std::uint64_t SaveDevices(const ForecastSettings& settings, const DeviceShape& shape,
                          const DeviceTable& table, const PairQueue& pairs,
                          const StateWriter& writer);
/// The devices, in the order in which they were saved. kInvalidArgument: of a stream with other
/// settings; kInvalidData: damaged.
Result<std::vector<std::shared_ptr<StreamDevice>>> LoadDevices(const ForecastSettings& settings,
                                                               const DeviceShape& shape,
                                                               const StateReader& reader,
                                                               DeviceTable* table);
/// The state was saved in format 1, which knew less.
bool IsFormatOne(const StateReader& reader);
/// The last saved number of each device that numbers its messages.
Result<std::vector<std::pair<std::string, std::uint64_t>>> SavedSequences(
    const StateReader& reader);

}  // namespace murmurate
