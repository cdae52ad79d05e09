// MqttAddress: where a broker listens, as it is written: mqtt://HOST[:PORT], or mqtts:// with TLS.
#pragma once

#include <string>
#include <string_view>

#include "murmurate/status.h"

namespace murmurate {

struct MqttAddress {
  bool secure = false;  ///< mqtts: TLS
  std::string host;     ///< a name or an address; IPv6 without its brackets
  int port = 0;         ///< 1883 when none is written, with TLS 8883

  /// The address as it is written, with the port.
  std::string ToString() const;
};

/// kInvalidArgument, in one sentence with the remedy, for anything else: another scheme, a path, a
/// user or password within the address (they have settings of their own; such an address is never
/// repeated in the message).
Result<MqttAddress> ParseMqttAddress(std::string_view text);

}  // namespace murmurate
