// An address taken apart; the room's own business.
#pragma once

#include <string>

#include "murmurate/status.h"

namespace murmurate {

struct ParsedAddress {
  /// The address in ZeroMQ's form: localhost becomes its number, since ZeroMQ would look the name
  /// up among the network interfaces; * stands for a port that the system chooses.
  std::string Text() const;

  bool ipc = false;
  std::string path;  ///< ipc
  std::string host;  ///< tcp: 127.0.0.1 for localhost, else as written, with the brackets
                     ///< of IPv6
  int port = 0;      ///< tcp: 0 when the system is to choose (written *)
};
Result<ParsedAddress> ParseAddress(const std::string& address);

}  // namespace murmurate
