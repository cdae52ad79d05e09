#include "server/operate/learning_curve.h"

#include <algorithm>
#include <cmath>

#include "server/metrics/number_text.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr double kWidth = 800, kHeight = 450, kLeft = 84, kRight = 24, kBottom = 62;
/// The points of a line and of a band: few enough that a picture stays small.
constexpr int kLinePoints = 400, kBandPoints = 120;

/// Axis maps data to the page.
struct Axis {
  double low, high, page_low, page_high;
  double At(double value) const {
    return page_low + (value - low) / (high - low) * (page_high - page_low);
  }
};

std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
  return out;
}

std::string Fixed(double value) { return FormatNumber("%.1f", value); }

/// 20000 -> "20k", 1500000 -> "1.5M".
std::string Short(double value) {
  const double size = std::abs(value);
  if (size >= 1e6) return FormatNumber("%.6gM", value / 1e6);
  return size >= 1e4 ? FormatNumber("%.6gk", value / 1e3) : FormatNumber("%.6g", value);
}

std::string Text(double x, double y, const char* anchor, const std::string& text,
                 const char* extra = "") {
  return "<text x=\"" + Fixed(x) + "\" y=\"" + Fixed(y) + "\" text-anchor=\"" + anchor + "\" " +
         extra + ">" + Escaped(text) + "</text>\n";
}

std::string Line(double x1, double y1, double x2, double y2, const char* kind) {
  return "<line x1=\"" + Fixed(x1) + "\" y1=\"" + Fixed(y1) + "\" x2=\"" + Fixed(x2) + "\" y2=\"" +
         Fixed(y2) + "\" class=\"" + kind + "\"/>\n";
}

/// Colours of a light page; a page that prefers dark gets the others. Renderers that do not know
/// the question keep the first.
std::string Style() {
  const auto colours = [](const char* page, const char* text, const char* strong, const char* grid,
                          const char* axis, const char* target, const char* const(&lines)[6]) {
    std::string css = std::string(".page{fill:") + page + "}text{fill:" + text +
                      "}.strong{fill:" + strong + "}.grid{stroke:" + grid +
                      "}.axis{stroke:" + axis + "}.target{stroke:" + target + "}";
    for (int i = 0; i < 6; ++i) {
      const std::string n = std::to_string(i), colour = lines[i];
      css += ".c" + n + "{stroke:" + colour + "}.b" + n + "{fill:" + colour + "}";
    }
    return css;
  };
  return "<style>" +
         colours("#ffffff", "#344054", "#101828", "#e4e7ec", "#667085", "#b42318",
                 {"#2563eb", "#d97706", "#059669", "#c026d3", "#57534e", "#0891b2"}) +
         ".line{fill:none;stroke-width:2.2;stroke-linejoin:round}.band{fill-opacity:.18}"
         ".target{stroke-dasharray:6 5;stroke-width:1.4}\n@media(prefers-color-scheme:dark){" +
         colours("#0d1117", "#c9d1d9", "#f0f6fc", "#2a313c", "#8b949e", "#ff7b72",
                 {"#58a6ff", "#e3a04f", "#3fb98a", "#e28af0", "#d6d3d1", "#4fc3dc"}) +
         "}</style>\n";
}

std::string Frame(const Axis& x, const Axis& y, const CurveDrawing& drawing) {
  std::string out;
  for (const double tick : RoundTicks(y.low, y.high, 5)) {
    if (tick < y.low || tick > y.high) continue;
    out += Line(kLeft, y.At(tick), kWidth - kRight, y.At(tick), "grid");
    out += Text(kLeft - 10, y.At(tick) + 4, "end", Short(tick));
  }
  for (const double tick : RoundTicks(0, x.high, 6)) {
    if (tick > x.high) continue;
    out += Line(x.At(tick), kHeight - kBottom, x.At(tick), kHeight - kBottom + 5, "axis");
    out += Text(x.At(tick), kHeight - kBottom + 21, "middle", Short(tick));
  }
  out += Line(kLeft, kHeight - kBottom, kWidth - kRight, kHeight - kBottom, "axis");
  out += Text((kLeft + kWidth - kRight) / 2, kHeight - 16, "middle", drawing.x_name);
  const std::string middle = Fixed((y.page_low + y.page_high) / 2);
  return out + "<text transform=\"translate(22 " + middle +
         ") rotate(-90)\" text-anchor=\"middle\">" + Escaped(drawing.y_name) + "</text>\n";
}

/// The title's line, then what is drawn, outside the axes, so it covers nothing.
struct Legend {
  std::string svg;
  double bottom = 52;
};

std::string NameOf(const CurveSeries& series, bool alone) {
  const std::string runs = std::to_string(series.runs.size());
  if (series.runs.size() < 2) return series.name;
  if (!alone) return series.name + " (" + runs + " runs)";
  return series.name + (series.name.empty() ? "" : ", ") + "median and range of " + runs + " runs" +
         (EarlyEndsOf(series.runs).empty() ? "" : ", of each as far as it went (dot: its end)");
}

Legend MakeLegend(const CurveDrawing& drawing, std::span<const CurveSeries> series) {
  constexpr double kSwatch = 28, kGap = 22, kLetter = 7.4, kRow = 20;
  Legend legend;
  legend.svg = Text(kLeft, 28, "start", drawing.title,
                    "class=\"strong\" font-size=\"17\" font-weight=\"bold\"");
  double at = kLeft;
  const auto add = [&](const std::string& line, const std::string& name) {
    const double width = kSwatch + kLetter * static_cast<double>(name.size());
    if (at > kLeft && at + width > kWidth - kRight) {
      at = kLeft;
      legend.bottom += kRow;
    }
    legend.svg += Line(at, legend.bottom - 4, at + kSwatch - 6, legend.bottom - 4, line.c_str());
    legend.svg += Text(at + kSwatch, legend.bottom, "start", name);
    at += width + kGap;
  };
  for (std::size_t i = 0; i < series.size(); ++i) {
    const std::string name = NameOf(series[i], series.size() == 1);
    if (!name.empty()) add("line c" + std::to_string(i), name);
  }
  if (drawing.target) add("target", drawing.target_name + ' ' + Short(*drawing.target));
  return legend;
}

std::string Point(const Axis& x, const Axis& y, std::uint64_t steps, double value) {
  return Fixed(x.At(static_cast<double>(steps))) + ' ' + Fixed(y.At(value));
}

std::string Dot(const Axis& x, const Axis& y, std::uint64_t steps, double value,
                const std::string& radius, const std::string& i) {
  return "<circle cx=\"" + Fixed(x.At(static_cast<double>(steps))) + "\" cy=\"" +
         Fixed(y.At(value)) + "\" r=\"" + radius + "\" class=\"b" + i + "\"/>\n";
}

std::string CurvePath(const Axis& x, const Axis& y, const CurveSeries& series,
                      const std::string& i) {
  const auto spread = SpreadOf(series.runs, series.runs.size() > 1 ? kBandPoints : kLinePoints);
  if (spread.empty()) return "";
  std::string line, band, back;
  for (const CurveSpread& at : spread) {
    line += (line.empty() ? "M" : "L") + Point(x, y, at.steps, at.median);
    band += (band.empty() ? "M" : "L") + Point(x, y, at.steps, at.most);
    back.insert(0, 'L' + Point(x, y, at.steps, at.least));
  }
  const CurveSpread& last = spread.back();
  std::string out;
  if (series.runs.size() > 1)
    out += "<path d=\"" + band + back + "Z\" class=\"band b" + i + "\"/>\n";
  out += "<path d=\"" + line + "\" class=\"line c" + i + "\"/>\n";
  for (const CurvePoint& end : EarlyEndsOf(series.runs))
    out += Dot(x, y, end.steps, end.mean_return, "2.5", i);
  return out + Dot(x, y, last.steps, last.median, "3.5", i);
}

/// Extent is what both axes must hold; nothing drawn: `most_steps` is 0.
struct Extent {
  double low = 0, high = 0;
  std::uint64_t most_steps = 0;
};

Extent ExtentOf(const CurveDrawing& drawing, std::span<const CurveSeries> series) {
  Extent extent;
  extent.low = std::min(0.0, drawing.target.value_or(0));
  extent.high = std::max(0.0, drawing.target.value_or(0));
  for (const CurveSeries& one : series)
    for (const auto& run : one.runs)
      for (const CurvePoint& point : run) {
        extent.low = std::min(extent.low, point.mean_return);
        extent.high = std::max(extent.high, point.mean_return);
        extent.most_steps = std::max(extent.most_steps, point.steps);
      }
  return extent;
}

}  // namespace

std::vector<double> RoundTicks(double low, double high, int count) {
  if (!(high > low)) high = low + 1;
  const double rough = (high - low) / count;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double ratio = rough / power;
  const double step = power * (ratio <= 1 ? 1 : ratio <= 2 ? 2 : ratio <= 5 ? 5 : 10);
  std::vector<double> ticks;
  const double first = std::floor(low / step + 1e-9), last = std::ceil(high / step - 1e-9);
  for (double i = first; i <= last; ++i) ticks.push_back(i * step);
  return ticks;
}

CurveDrawing StreamDrawing() {
  CurveDrawing drawing;
  drawing.y_name = "error, in usual errors of the naive forecast";
  drawing.x_name = "rows learned";
  drawing.nothing = "no forecast has been scored since rows were learned";
  return drawing;
}

std::string DrawLearningCurves(const CurveDrawing& drawing, std::span<const CurveSeries> series) {
  MURMURATE_CHECK(series.size() <= kMaxSeries, "more series than colours");
  const Legend legend = MakeLegend(drawing, series);
  std::string out =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"800\" height=\"450\" viewBox=\"0 0 800 "
      "450\" font-family=\"sans-serif\" font-size=\"13\">\n" +
      Style() + "<rect width=\"800\" height=\"450\" class=\"page\"/>\n" + legend.svg;
  const Extent extent = ExtentOf(drawing, series);
  if (extent.most_steps == 0)
    return out + Text(kWidth / 2, kHeight / 2, "middle", drawing.nothing) + "</svg>\n";
  const auto y_ticks = RoundTicks(extent.low, extent.high, 5);
  const Axis x{0, static_cast<double>(extent.most_steps) * 1.03, kLeft, kWidth - kRight};
  const Axis y{y_ticks.front(), y_ticks.back(), kHeight - kBottom, legend.bottom + 20};
  out += Frame(x, y, drawing);
  if (drawing.target)
    out += Line(kLeft, y.At(*drawing.target), kWidth - kRight, y.At(*drawing.target), "target");
  for (std::size_t i = 0; i < series.size(); ++i)
    out += CurvePath(x, y, series[i], std::to_string(i));
  return out + "</svg>\n";
}

}  // namespace murmurate
