// An address taken apart; the room's own business.
#pragma once

#include <string>

#include "murmurate/status.h"

namespace murmurate {

struct ParsedAddress {
  bool ipc = false;
  std::string path;  ///< ipc
  std::string host;  ///< tcp: as written, with the brackets of IPv6
  int port = 0;      ///< tcp: 0 when the system is to choose (written *)
};
Result<ParsedAddress> ParseAddress(const std::string& address);

}  // namespace murmurate
