// Numbers as texts: for files, for tables, for people.
#pragma once

#include <cstdint>
#include <string>

namespace murmurate {

/// Formats as printf does: FormatNumber("%.6g", 0.5) is "0.5". At most 63 characters.
std::string FormatNumber(const char* format, double value);

std::string WithCommas(std::uint64_t number);  ///< 1234567 -> "1,234,567"
std::string ReturnText(double mean);           ///< "431.2"; below 10 "0.958"
std::string RateText(double per_second);       ///< "9999", "152 k"
std::string PercentText(double share);         ///< 0.12 -> "12 %"
std::string ShortDuration(double seconds);     ///< "0.4 s", "12 s", "3 min 20 s", "2 h 5 min"

}  // namespace murmurate
