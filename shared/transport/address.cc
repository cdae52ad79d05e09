#include "shared/transport/address.h"

#include <string.h>

#include <charconv>
#include <string_view>

#include "shared/transport/socket.h"
#include "shared/transport/unix_listener.h"

namespace murmurate {
namespace {

constexpr char kExpected[] =
    "expected tcp://HOST:PORT or ipc://PATH, e.g. tcp://127.0.0.1:7420 or "
    "ipc:///tmp/murmurate/main";
constexpr int kMaxPort = 65535;

Status Unreadable(const std::string& address, const std::string& why) {
  return InvalidArgument("address '" + address + "': " + why + "; " + kExpected);
}

}  // namespace

std::string ParsedAddress::Text() const {
  if (ipc) return "ipc://" + path;
  return "tcp://" + host + ':' + (port == 0 ? "*" : std::to_string(port));
}

Result<ParsedAddress> ParseAddress(const std::string& address) {
  const std::string_view text = address;
  ParsedAddress parsed;
  if (text.find('\0') != text.npos) return Unreadable("", "holds a zero byte");
  if (text.starts_with("ipc://")) {
    parsed.ipc = true;
    parsed.path = text.substr(6);
    if (parsed.path.empty() || parsed.path[0] != '/') {
      return Unreadable(address, "the path is not absolute");
    }
    if (parsed.path.size() > kMaxSocketPath) {
      return Unreadable(address, "the path has " + std::to_string(parsed.path.size()) +
                                     " bytes and a socket's path at most 107");
    }
    return parsed;
  }
  if (!text.starts_with("tcp://")) return Unreadable(address, "is neither tcp nor ipc");
  const std::string_view rest = text.substr(6);
  const std::size_t colon = rest.rfind(':');
  if (colon == rest.npos || colon == 0) return Unreadable(address, "has no port");
  parsed.host = rest.substr(0, colon);
  if (parsed.host == "localhost") parsed.host = "127.0.0.1";
  if (parsed.host.find(':') != std::string::npos &&
      (parsed.host.front() != '[' || parsed.host.back() != ']')) {
    return Unreadable(address, "an IPv6 host is written in brackets, [::1]");
  }
  const std::string_view port = rest.substr(colon + 1);
  if (port == "*") return parsed;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), parsed.port);
  if (error != std::errc() || end != port.data() + port.size() || parsed.port < 1 ||
      parsed.port > kMaxPort) {
    return Unreadable(address, "the port is not a number from 1 to 65535");
  }
  return parsed;
}

Status CheckConnectable(const std::string& address) {
  const Result<ParsedAddress> parsed = ParseAddress(address);
  if (!parsed.ok() || parsed->ipc) return parsed.status();
  if (parsed->port != 0 && parsed->host != "*") return Status();
  return InvalidArgument("cannot connect to " + address +
                         ": expected a host and a port, e.g. tcp://127.0.0.1:7420");
}

Result<AddressFamily> SisterAddresses(const std::string& main) {
  Result<ParsedAddress> parsed = ParseAddress(main);
  if (!parsed.ok()) return parsed.status();
  if (parsed->ipc) {
    const AddressFamily family{main, main + ".announce", main + ".weights"};
    if (parsed->path.size() + strlen(".announce") > kMaxSocketPath) {
      return Unreadable(main, "with '.announce' the path is longer than 107 bytes");
    }
    return family;
  }
  const std::string base = "tcp://" + parsed->host + ":";
  if (parsed->port == 0) return AddressFamily{base + "*", base + "*", base + "*"};
  if (parsed->port + 2 > kMaxPort) {
    return Unreadable(main, "the port must leave room for two more (announce and weights)");
  }
  return AddressFamily{parsed->Text(), base + std::to_string(parsed->port + 1),
                       base + std::to_string(parsed->port + 2)};
}

}  // namespace murmurate
