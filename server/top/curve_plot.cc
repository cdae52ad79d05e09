#include "server/top/curve_plot.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "server/metrics/number_text.h"
#include "server/top/dot_canvas.h"
#include "server/top/text_columns.h"

namespace murmurate {
namespace {

constexpr int kLeastRows = 3, kLeastColumns = 24;

TopStyle StyleOf(std::size_t curve) { return curve == 0 ? TopStyle::kFirst : TopStyle::kSecond; }

/// What the axes reach over.
struct Extent {
  double first = std::numeric_limits<double>::infinity(), last = -first;  ///< steps
  double low = first, high = -first;

  void Take(const CurvePoint& point) {
    const auto steps = static_cast<double>(point.steps);
    first = std::min(first, steps);
    last = std::max(last, steps);
    low = std::min(low, point.mean_return);
    high = std::max(high, point.mean_return);
  }
  bool empty() const { return first > last; }
};

Extent ExtentOf(const std::vector<TopCurve>& curves) {
  Extent extent;
  for (const TopCurve& curve : curves)
    for (const CurvePoint& point : curve.points)
      if (std::isfinite(point.mean_return)) extent.Take(point);
  return extent;
}

/// The dot of `value` among `dots`, of an axis from `low` to `high`; the middle where these are one.
int DotOf(double value, double low, double high, int dots) {
  if (!(high > low)) return dots / 2;
  return static_cast<int>(std::lround((value - low) / (high - low) * (dots - 1)));
}

void Draw(const TopCurve& curve, const Extent& extent, TopStyle style, DotCanvas* canvas) {
  bool begun = false;
  int x = 0, y = 0;
  for (const CurvePoint& point : curve.points) {
    if (!std::isfinite(point.mean_return)) continue;
    const int to_x =
        DotOf(static_cast<double>(point.steps), extent.first, extent.last, canvas->width());
    const int to_y =
        canvas->height() - 1 - DotOf(point.mean_return, extent.low, extent.high, canvas->height());
    canvas->Line(begun ? x : to_x, begun ? y : to_y, to_x, to_y, style);
    begun = true;
    x = to_x;
    y = to_y;
  }
}

/// "1,200", "62 k", "3.4 M"
std::string StepsText(double steps) {
  if (steps < 1e4) return WithCommas(static_cast<std::uint64_t>(steps));
  if (steps < 1e6) return FormatNumber("%.0f k", steps / 1e3);
  return steps < 1e9 ? FormatNumber("%.1f M", steps / 1e6) : FormatNumber("%.1f G", steps / 1e9);
}

/// The line below: where the steps begin and end, and between them the curves' names.
TopLine StepsLine(const std::vector<TopCurve>& curves, const Extent& extent, int left, int width) {
  const std::string first = StepsText(extent.first), last = StepsText(extent.last) + " steps";
  TopLine line{{std::string(static_cast<std::size_t>(left), ' ') + first, TopStyle::kFaint}};
  int room = width - ColumnsOf(first) - ColumnsOf(last);
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const std::string name = (i == 0 ? "  " : ", ") + curves[i].name;
    if (ColumnsOf(name) + 1 > room) break;
    line.push_back({name, StyleOf(i)});
    room -= ColumnsOf(name);
  }
  line.push_back({PadBefore(last, room + ColumnsOf(last)), TopStyle::kFaint});
  return line;
}

}  // namespace

std::vector<TopLine> PlotLines(const std::vector<TopCurve>& curves, TopSize size, Glyphs glyphs) {
  const Extent extent = ExtentOf(curves);
  if (extent.empty() || size.rows < kLeastRows || size.columns < kLeastColumns) return {};
  const int rows = size.rows - 1;
  const std::string high = FormatNumber("%.4g", extent.high),
                    low = FormatNumber("%.4g", extent.low);
  const std::string middle =
      rows >= 7 ? FormatNumber("%.4g", (extent.high + extent.low) / 2) : std::string();
  const int left =
      static_cast<int>(std::max({high.size(), low.size(), middle.size()})) + 1;  // and a space
  const int width = size.columns - left;
  DotCanvas canvas(width, rows);
  for (std::size_t i = 0; i < curves.size(); ++i) Draw(curves[i], extent, StyleOf(i), &canvas);
  std::vector<TopLine> lines = canvas.Lines(glyphs);
  for (int row = 0; row < rows; ++row) {
    const std::string label = row == 0          ? high
                              : row == rows - 1 ? low
                              : row == rows / 2 ? middle
                                                : "";
    TopLine& line = lines[static_cast<std::size_t>(row)];
    line.insert(line.begin(), {PadBefore(label, left - 1) + ' ', TopStyle::kFaint});
  }
  lines.push_back(StepsLine(curves, extent, left, width));
  return lines;
}

}  // namespace murmurate
