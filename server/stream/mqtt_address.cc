#include "server/stream/mqtt_address.h"

#include <algorithm>
#include <charconv>

namespace murmurate {
namespace {

constexpr std::size_t kMaxHost = 253;  // of a name in the DNS
constexpr int kMaxPort = 65535;

Status Refused(std::string_view text, const std::string& why) {
  return InvalidArgument("broker '" + std::string(text) + "': " + why +
                         "; write mqtt://HOST[:PORT], or mqtts://HOST[:PORT] with TLS, e.g. "
                         "mqtt://localhost:1883");
}

bool OfHost(unsigned char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') || byte == '.' || byte == '-' || byte == '_';
}

bool OfIpv6(unsigned char byte) {
  return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f') ||
         (byte >= 'A' && byte <= 'F') || byte == ':' || byte == '.' || byte == '%';
}

bool IsPrintable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 127; });
}

}  // namespace

std::string MqttAddress::ToString() const {
  const bool brackets = host.find(':') != host.npos;
  return (secure ? "mqtts://" : "mqtt://") + (brackets ? '[' + host + ']' : host) + ':' +
         std::to_string(port);
}

Result<MqttAddress> ParseMqttAddress(std::string_view text) {
  if (text.find('@') != text.npos) {
    return InvalidArgument(
        "broker: the address holds an '@'; write user and password in settings of their own and "
        "the address as mqtt://HOST[:PORT]");
  }
  if (!IsPrintable(text)) return Refused("", "the address holds a blank or a strange byte");
  MqttAddress address;
  if (text.starts_with("mqtts://")) {
    address.secure = true;
  } else if (!text.starts_with("mqtt://")) {
    return Refused(text, "is no address of an MQTT broker");
  }
  std::string_view rest = text.substr(address.secure ? 8 : 7);
  if (rest.find_first_of("/?#") != rest.npos) {
    return Refused(text, "nothing may stand behind the port");
  }
  if (rest.starts_with('[')) {
    const std::size_t end = rest.find(']');
    if (end == rest.npos) return Refused(text, "the bracket of the IPv6 address is not closed");
    address.host = rest.substr(1, end - 1);
    rest = rest.substr(end + 1);
    if (!std::all_of(address.host.begin(), address.host.end(), OfIpv6)) {
      return Refused(text, "in the brackets is no IPv6 address");
    }
  } else {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    address.host = rest.substr(0, end);
    rest = rest.substr(end);
    if (rest.find(':', 1) != rest.npos) {
      return Refused(text, "an IPv6 address is written in brackets, [::1]");
    }
    if (!std::all_of(address.host.begin(), address.host.end(), OfHost)) {
      return Refused(text, "the host is no name");
    }
  }
  if (address.host.empty() || address.host.size() > kMaxHost) {
    return Refused(text, "has no host, or one of more than 253 bytes");
  }
  address.port = address.secure ? 8883 : 1883;
  if (rest.empty()) return address;
  const auto [end, error] =
      std::from_chars(rest.data() + 1, rest.data() + rest.size(), address.port);
  if (rest[0] != ':' || error != std::errc() || end != rest.data() + rest.size() ||
      address.port < 1 || address.port > kMaxPort) {
    return Refused(text, "the port is not a number from 1 to 65535");
  }
  return address;
}

}  // namespace murmurate
