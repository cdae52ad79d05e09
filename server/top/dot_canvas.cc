#include "server/top/dot_canvas.h"

#include <algorithm>
#include <cmath>

#include "shared/core/check.h"

namespace murmurate {
namespace {

/// The bit of a dot, by its row and its column (the Unicode Standard, chapter 21.1).
constexpr std::uint8_t kBits[DotCanvas::kDown][DotCanvas::kAcross] = {
    {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
constexpr std::uint8_t kUpper = 0x01 | 0x08 | 0x02 | 0x10;

/// U+2800 + dots in UTF-8.
std::string Braille(std::uint8_t dots) {
  return {'\xE2', static_cast<char>(0xA0 | (dots >> 6)), static_cast<char>(0x80 | (dots & 0x3F))};
}

std::string Ascii(std::uint8_t dots) {
  const bool upper = (dots & kUpper) != 0, lower = (dots & ~kUpper) != 0;
  return upper && lower ? ":" : upper ? "'" : ".";
}

}  // namespace

DotCanvas::DotCanvas(int columns, int rows)
    : columns_(columns), rows_(rows), cells_(static_cast<std::size_t>(columns * rows)) {
  MURMURATE_CHECK(columns > 0 && rows > 0, "a canvas has characters");
}

void DotCanvas::Set(int x, int y, TopStyle style) {
  if (x < 0 || y < 0 || x >= width() || y >= height()) return;
  Cell& cell = cells_[static_cast<std::size_t>(y / kDown * columns_ + x / kAcross)];
  if (cell.dots == 0) cell.style = style;
  cell.dots |= kBits[y % kDown][x % kAcross];
}

void DotCanvas::Line(int x, int y, int to_x, int to_y, TopStyle style) {
  const int steps = std::max({1, std::abs(to_x - x), std::abs(to_y - y)});
  for (int i = 0; i <= steps; ++i) {
    const double way = static_cast<double>(i) / steps;
    Set(static_cast<int>(std::lround(x + way * (to_x - x))),
        static_cast<int>(std::lround(y + way * (to_y - y))), style);
  }
}

std::vector<TopLine> DotCanvas::Lines(Glyphs glyphs) const {
  std::vector<TopLine> lines(static_cast<std::size_t>(rows_));
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const auto& [dots, style] = cells_[i];
    TopLine& line = lines[i / static_cast<std::size_t>(columns_)];
    if (line.empty() || line.back().style != style) line.push_back({"", style});
    line.back().text += dots == 0 ? " " : glyphs == Glyphs::kBraille ? Braille(dots) : Ascii(dots);
  }
  return lines;
}

}  // namespace murmurate
