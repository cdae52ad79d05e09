// TopTable: rows of JSON as a table that fits a width.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "server/top/top_line.h"

namespace murmurate {

struct TopColumn {
  const char* title;
  const char* pattern;                                   ///< of FillText, over a row
  TopStyle (*style)(const std::string& text) = nullptr;  ///< of a cell; null: plain
};

/// The titles, then a line a row; none without rows. Columns that matter less come later: what
/// does not fit is left out from behind. The first column is on the left and cut where it is long,
/// the others stand on the right of theirs.
std::vector<TopLine> TopTable(const std::vector<TopColumn>& columns,
                              const std::vector<nlohmann::json>& rows, int width);

/// Of "live" and "up" good, of "stalled" a warning, of "gone" and "down" bad.
TopStyle StateStyle(const std::string& state);

}  // namespace murmurate
