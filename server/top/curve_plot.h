// CurvePlot: learning curves in characters:
//
//      475 ⠀⠀⠀⠀⠀⠀⠀⣀⡠⠤⠔⠒⠒⠉
//          ⠀⠀⠀⣀⠤⠒⠉
//       20 ⠤⠊⠉
//          0        return       62 k
#pragma once

#include <string>
#include <vector>

#include "server/operate/curve.h"
#include "server/top/top_line.h"

namespace murmurate {

struct TopCurve {
  std::string name;  ///< "return", below the plot
  std::vector<CurvePoint> points;
};

/// At most two curves over the same axes, in `size.rows` lines no wider than `size.columns`: values
/// on the left, steps and names below. What is not finite is left out. Without a point, or without
/// room (3 rows, 24 columns), it has no line.
std::vector<TopLine> PlotLines(const std::vector<TopCurve>& curves, TopSize size, Glyphs glyphs);

}  // namespace murmurate
