// The short words in which the tables of keys (config_table.cc, config_stream_table.cc) are
// written.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "server/schema/config_rules.h"

namespace murmurate {

using Strings = std::vector<std::string>;
inline constexpr std::monostate kUnset;
inline constexpr ValueKind kBool = ValueKind::kBool, kInteger = ValueKind::kInteger,
                           kNumber = ValueKind::kNumber, kPath = ValueKind::kPath,
                           kSchedule = ValueKind::kSchedule, kString = ValueKind::kString;

inline ConfigValue I(std::int64_t value) { return value; }
inline ConfigValue S(const char* value) { return std::string(value); }

}  // namespace murmurate
