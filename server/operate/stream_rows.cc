#include "server/operate/stream_rows.h"

#include <array>
#include <cstdint>

#include "server/operate/display.h"

namespace murmurate {
namespace {

std::string Counted(const nlohmann::json& stream, const char* key) {
  return WithCommas(stream.value(key, std::uint64_t{0}));
}

}  // namespace

std::string RowsLine(const nlohmann::json& stream) {
  if (!stream.contains("rows")) return "";
  static constexpr std::array<std::array<const char*, 2>, 6> kCounts = {
      {{"late", "late"},
       {"incomplete", "without a value that never came"},
       {"skipped", "skipped for missing values"},
       {"joined", "joined in cells"},
       {"empty", "empty cells"},
       {"waiting", "cells open"}}};
  std::string line = "  " + Counted(stream, "received") + " received, " + Counted(stream, "rows") +
                     " rows, " + Counted(stream, "forecasts") + " forecasts";
  for (const auto& [key, words] : kCounts)
    if (const std::string count = Counted(stream, key); count != "0")
      line += ", " + count + ' ' + words;
  const std::string stuck = stream.value("stuck", "");
  return line + (stuck.empty()
                     ? "\n"
                     : "\n  no row: " + stuck + "; set 'every' if its fields come apart\n");
}

}  // namespace murmurate
