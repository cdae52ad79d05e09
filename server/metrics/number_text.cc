#include "server/metrics/number_text.h"

#include <cmath>
#include <cstdio>

namespace murmurate {

std::string FormatNumber(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string WithCommas(std::uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string ReturnText(double mean) {
  return FormatNumber(std::abs(mean) < 10 ? "%.3f" : "%.1f", mean);
}

std::string RateText(double per_second) {
  return per_second >= 1e4 ? FormatNumber("%.0f k", per_second / 1e3)
                           : FormatNumber("%.0f", per_second);
}

std::string PercentText(double share) { return FormatNumber("%.0f %%", 100.0 * share); }

std::string ShortDuration(double seconds) {
  if (seconds < 9.95) return FormatNumber("%.1f s", seconds);
  const auto whole = static_cast<std::uint64_t>(std::llround(seconds));
  if (whole < 60) return std::to_string(whole) + " s";
  if (whole < 3600) return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s";
  return std::to_string(whole / 3600) + " h " + std::to_string(whole / 60 % 60) + " min";
}

}  // namespace murmurate
