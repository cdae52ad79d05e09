#include "server/stream/connack.h"

namespace murmurate {
namespace {

constexpr unsigned char kConnack = 0x20;

unsigned At(std::string_view bytes, std::size_t place) {
  return static_cast<unsigned char>(bytes[place]);
}

/// A string or binary data: two bytes of length before it. 0: it is cut off.
std::size_t LengthOfText(std::string_view bytes) {
  if (bytes.size() < 2) return 0;
  const std::size_t length = 2 + (At(bytes, 0) << 8 | At(bytes, 1));
  return length <= bytes.size() ? length : 0;
}

/// The length of the value of a property that CONNACK may have (MQTT 5, section 3.2.2.3). 0: it may
/// not have it, or the value is cut off.
std::size_t LengthOfValue(unsigned identifier, std::string_view bytes) {
  switch (identifier) {
    case 0x24:  // maximum qos
    case 0x25:  // retain available
    case 0x28:  // wildcard, identified and shared subscriptions available
    case 0x29:
    case 0x2a:
      return 1;
    case 0x13:  // server keep alive
    case 0x21:  // receive maximum
    case 0x22:  // topic alias maximum
      return 2;
    case 0x11:  // session expiry interval
    case 0x27:  // maximum packet size
      return 4;
    case 0x12:  // assigned client identifier
    case 0x15:  // authentication method and data
    case 0x16:
    case 0x1a:  // response information
    case 0x1c:  // server reference
    case 0x1f:  // reason
      return LengthOfText(bytes);
    case 0x26: {  // user property
      const std::size_t name = LengthOfText(bytes);
      const std::size_t value = name == 0 ? 0 : LengthOfText(bytes.substr(name));
      return value == 0 ? 0 : name + value;
    }
    default:
      return 0;
  }
}

bool ArePropertiesOfConnack(std::string_view bytes) {
  while (!bytes.empty()) {
    const unsigned identifier = At(bytes, 0);
    bytes.remove_prefix(1);
    const std::size_t length = LengthOfValue(identifier, bytes);
    if (length == 0 || length > bytes.size()) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

/// MQTT's variable byte integer, of two bytes at most. -1: it is longer; bytes read in `size`, 0
/// when some are missing.
int ReadLength(std::string_view bytes, std::size_t* size) {
  *size = 0;
  if (bytes.empty()) return 0;
  *size = 1;
  if (At(bytes, 0) < 0x80) return static_cast<int>(At(bytes, 0));
  *size = bytes.size() < 2 ? 0 : 2;
  if (*size == 0) return 0;
  if (At(bytes, 1) >= 0x80) return -1;
  return static_cast<int>((At(bytes, 0) & 0x7f) | At(bytes, 1) << 7);
}

}  // namespace

Greeting ExamineConnack(std::string_view bytes, std::size_t* needed) {
  *needed = bytes.size() + 1;
  if (bytes.empty()) return Greeting::kPartial;
  if (At(bytes, 0) != kConnack) return Greeting::kNone;
  std::size_t size = 0;
  const int length = ReadLength(bytes.substr(1), &size);
  if (size == 0) return Greeting::kPartial;
  const std::size_t whole = 1 + size + static_cast<std::size_t>(length);
  if (length < 2 || whole > kMaxConnack) return Greeting::kNone;
  if (bytes.size() < whole) {
    *needed = whole;
    return Greeting::kPartial;
  }
  const std::string_view properties =
      bytes.substr(1 + size + 2, static_cast<std::size_t>(length - 2));
  if (properties.empty()) return Greeting::kProper;  // of MQTT 3.1.1
  const int properties_length = ReadLength(properties, &size);
  if (size == 0 || properties_length < 0 ||
      size + static_cast<std::size_t>(properties_length) != properties.size()) {
    return Greeting::kNone;
  }
  return ArePropertiesOfConnack(properties.substr(size)) ? Greeting::kProper : Greeting::kNone;
}

}  // namespace murmurate
