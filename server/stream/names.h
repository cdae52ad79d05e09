// Checks of names from outside before they become part of a topic or of a message.
#pragma once

#include <cstddef>
#include <string_view>

#include "server/stream/sample.h"

namespace murmurate {

/// The most bytes of a device's name or an id, which every device and open forecast keeps.
inline constexpr std::size_t kMaxNameBytes = 128;

/// kNone, kEmptyDevice, kDeviceNameTooLong, or kBadDeviceName when it cannot be one level of a
/// topic: brokers turn control characters away, too.
Refusal CheckDeviceName(std::string_view name);

}  // namespace murmurate
