#include "server/stream/names.h"

#include "server/metrics/utf8.h"

namespace murmurate {
namespace {

/// U+0000 to U+001F, U+007F to U+009F
bool IsControl(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  return first < 0x20 || first == 0x7F ||
         (first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0);
}

}  // namespace

Refusal CheckDeviceName(std::string_view name) {
  if (name.empty()) return Refusal::kEmptyDevice;
  if (name.size() > kMaxNameBytes) return Refusal::kDeviceNameTooLong;
  if (name.find_first_of("+#/") != name.npos) return Refusal::kBadDeviceName;
  while (!name.empty()) {
    const std::size_t length = Utf8Length(name);
    if (length == 0 || IsControl(name)) return Refusal::kBadDeviceName;
    name.remove_prefix(length);
  }
  return Refusal::kNone;
}

}  // namespace murmurate
