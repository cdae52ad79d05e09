// PageSettings: [page], where a run shows itself to browsers and monitors, and to whom.
#pragma once

#include <string>
#include <vector>

#include "murmurate/status.h"

namespace murmurate {

template <typename S>
class Keys;

/// Where `murmurate serve` listens if page.listen does not say.
inline constexpr char kPageAddress[] = "127.0.0.1:7480";

struct PageSettings {
  std::string listen;  ///< "HOST:PORT" or "off"; "": as the command has it
  bool control = false;
  std::vector<std::string> hosts;  ///< further names that the page may be asked for by
};

const Keys<PageSettings>& PageKeys();

/// PageAddress is where a page listens.
struct PageAddress {
  std::string host;  ///< a name or a number; without the brackets of IPv6
  int port = 0;      ///< 0: one that the system chooses

  std::string ToString() const;  ///< "127.0.0.1:7480", "[::1]:7480"
};

/// Parses "127.0.0.1:7480", "[::1]:7480", "localhost:*".
Result<PageAddress> ParsePageAddress(const std::string& text);

}  // namespace murmurate
