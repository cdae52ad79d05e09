// DotCanvas: a plane of dots, of which each character of a terminal shows 2 x 4.
#pragma once

#include <cstdint>
#include <vector>

#include "server/top/top_line.h"

namespace murmurate {

class DotCanvas {
 public:
  static constexpr int kAcross = 2, kDown = 4;  ///< dots of a character

  /// In characters, each at least 1.
  DotCanvas(int columns, int rows);

  int width() const { return columns_ * kAcross; }  ///< in dots
  int height() const { return rows_ * kDown; }

  /// Sets the dots of a straight line, its ends among them. From the left and the top; what lies
  /// outside is left out. A character has the style of the first line through it.
  void Line(int x, int y, int to_x, int to_y, TopStyle style);

  /// As many lines as rows, each of all columns.
  std::vector<TopLine> Lines(Glyphs glyphs) const;

 private:
  struct Cell {
    std::uint8_t dots = 0;  ///< bits as in U+2800 + dots
    TopStyle style = TopStyle::kPlain;
  };
  void Set(int x, int y, TopStyle style);

  const int columns_, rows_;
  std::vector<Cell> cells_;  ///< by row
};

}  // namespace murmurate
