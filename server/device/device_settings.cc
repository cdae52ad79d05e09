#include "server/device/device_settings.h"

#include <charconv>

namespace murmurate {

bool IsDeviceName(std::string_view name) {
  if (name == "cpu" || name == "cuda" || name == "auto") return true;
  constexpr std::string_view kNumbered = "cuda:";
  if (!name.starts_with(kNumbered)) return false;
  const std::string_view digits = name.substr(kNumbered.size());
  int number = -1;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), number);
  return error == std::errc() && end == digits.end() && number >= 0 && number < 64 &&
         (digits.size() == 1 || digits.front() != '0');
}

std::string InWords(const DeviceSettings& settings) {
  return settings.name + ", " + TextOf(settings.precision) +
         (settings.deterministic ? "" : ", not deterministic") +
         (settings.tune ? "" : ", not tuned");
}

}  // namespace murmurate
