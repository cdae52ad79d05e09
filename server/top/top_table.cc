#include "server/top/top_table.h"

#include <algorithm>

#include "server/operate/json_values.h"
#include "server/top/text_columns.h"

namespace murmurate {
namespace {

constexpr int kLeastName = 6, kGap = 1;
using Texts = std::vector<std::string>;

/// The texts of a column, its title first.
Texts TextsOf(const TopColumn& column, const std::vector<nlohmann::json>& rows) {
  Texts texts{column.title};
  for (const nlohmann::json& row : rows) texts.push_back(Printable(FillText(column.pattern, row)));
  return texts;
}

int WidestOf(const Texts& texts) {
  int widest = 0;
  for (const std::string& text : texts) widest = std::max(widest, ColumnsOf(text));
  return widest;
}

/// The widths of the columns that are shown.
std::vector<int> WidthsOf(const std::vector<Texts>& columns, int width) {
  std::vector<int> widths{std::min(WidestOf(columns.front()), kLeastName)};
  int left = width - widths.front();
  for (std::size_t i = 1; i < columns.size(); ++i) {
    const int needed = WidestOf(columns[i]);
    if (needed + kGap > left) break;
    widths.push_back(needed);
    left -= needed + kGap;
  }
  widths.front() = std::min(width, std::min(WidestOf(columns.front()), widths.front() + left));
  return widths;
}

TopStyle StyleOf(const TopColumn& column, std::size_t row, const std::string& text) {
  if (row == 0) return TopStyle::kTitle;
  return column.style == nullptr ? TopStyle::kPlain : column.style(text);
}

}  // namespace

std::vector<TopLine> TopTable(const std::vector<TopColumn>& columns,
                              const std::vector<nlohmann::json>& rows, int width) {
  if (rows.empty() || columns.empty()) return {};
  std::vector<Texts> texts;
  for (const TopColumn& column : columns) texts.push_back(TextsOf(column, rows));
  const std::vector<int> widths = WidthsOf(texts, width);
  std::vector<TopLine> lines(rows.size() + 1);
  for (std::size_t row = 0; row < lines.size(); ++row)
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const std::string& text = texts[i][row];
      const std::string cell =
          i == 0 ? PadBehind(text, widths[i]) : std::string(kGap, ' ') + PadBefore(text, widths[i]);
      lines[row].push_back({cell, StyleOf(columns[i], row, text)});
    }
  return lines;
}

TopStyle StateStyle(const std::string& state) {
  if (state == "live" || state == "up") return TopStyle::kGood;
  if (state == "stalled") return TopStyle::kWarning;
  return state == "gone" || state.starts_with("down") ? TopStyle::kBad : TopStyle::kPlain;
}

}  // namespace murmurate
