#include "server/stream/names.h"

namespace murmurate {
namespace {

/// U+0000 to U+001F, U+007F to U+009F
bool IsControl(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  return first < 0x20 || first == 0x7F ||
         (first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0);
}

bool Follows(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

std::size_t Utf8Length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  const std::size_t length = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (length == 0 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!Follows(text[i])) return 0;
  }
  const auto second = static_cast<unsigned char>(text[1]);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool surrogate = first == 0xED && second >= 0xA0;
  const bool too_high = first == 0xF4 && second >= 0x90;
  return overlong || surrogate || too_high ? 0 : length;
}

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
