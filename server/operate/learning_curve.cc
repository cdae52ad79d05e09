#include "server/operate/learning_curve.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace murmurate {
namespace {

constexpr const char *kTraining = "#2563eb", *kEvaluation = "#d97706";
constexpr double kWidth = 800, kHeight = 450, kLeft = 84, kRight = 24, kTop = 52, kBottom = 62;

/// From data to the page.
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

std::string Fixed(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

/// 20000 -> "20k", 1500000 -> "1.5M".
std::string Short(double value) {
  const double size = std::abs(value);
  const double unit = size >= 1e6 ? 1e6 : size >= 1e4 ? 1e3 : 1;
  char text[32];
  std::snprintf(text, sizeof text, "%.6g%s", value / unit,
                unit == 1e6   ? "M"
                : unit == 1e3 ? "k"
                              : "");
  return text;
}

std::string Text(double x, double y, const char* anchor, const std::string& text,
                 const char* extra = "") {
  return "<text x=\"" + Fixed(x) + "\" y=\"" + Fixed(y) + "\" text-anchor=\"" + anchor + "\" " +
         extra + ">" + Escaped(text) + "</text>\n";
}

std::string Line(double x1, double y1, double x2, double y2, const char* style) {
  return "<line x1=\"" + Fixed(x1) + "\" y1=\"" + Fixed(y1) + "\" x2=\"" + Fixed(x2) + "\" y2=\"" +
         Fixed(y2) + "\" " + style + "/>\n";
}

std::string Legend() {
  const double x = kWidth - kRight - 220;
  return Line(x, 22, x + 24, 22, "stroke=\"#2563eb\" stroke-width=\"2.2\"") +
         Text(x + 30, 26, "start", "training") +
         Line(x + 100, 22, x + 124, 22, "stroke=\"#d97706\" stroke-width=\"2.2\"") +
         Text(x + 130, 26, "start", "evaluation");
}

std::string Frame(const Axis& x, const Axis& y, std::span<const double> x_ticks,
                  std::span<const double> y_ticks) {
  std::string out;
  for (const double tick : y_ticks) {
    out += Line(kLeft, y.At(tick), kWidth - kRight, y.At(tick), "stroke=\"#e4e7ec\"");
    out += Text(kLeft - 10, y.At(tick) + 4, "end", Short(tick));
  }
  for (const double tick : x_ticks) {
    out += Line(x.At(tick), kHeight - kBottom, x.At(tick), kHeight - kBottom + 5,
                "stroke=\"#667085\"");
    out += Text(x.At(tick), kHeight - kBottom + 21, "middle", Short(tick));
  }
  out += Line(kLeft, kHeight - kBottom, kWidth - kRight, kHeight - kBottom, "stroke=\"#667085\"");
  out += Text((kLeft + kWidth - kRight) / 2, kHeight - 16, "middle", "environment steps");
  const std::string middle = Fixed((kTop + kHeight - kBottom) / 2);
  out += "<text transform=\"translate(22 " + middle +
         ") rotate(-90)\" text-anchor=\"middle\">mean return, last 100 episodes</text>\n";
  return out;
}

std::string Path(const Axis& x, const Axis& y, std::span<const CurvePoint> points,
                 const char* color) {
  if (points.empty()) return "";
  std::string path;
  for (const CurvePoint& point : points)
    path += (path.empty() ? "M" : " L") + Fixed(x.At(static_cast<double>(point.steps))) + ' ' +
            Fixed(y.At(point.mean_return));
  const CurvePoint& last = points.back();
  return "<path d=\"" + path + "\" fill=\"none\" stroke=\"" + color +
         "\" stroke-width=\"2.2\" stroke-linejoin=\"round\"/>\n<circle cx=\"" +
         Fixed(x.At(static_cast<double>(last.steps))) + "\" cy=\"" + Fixed(y.At(last.mean_return)) +
         "\" r=\"3.5\" fill=\"" + color + "\"/>\n";
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

std::string DrawLearningCurve(const CurveDrawing& drawing, std::span<const CurvePoint> points) {
  std::string out =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"800\" height=\"450\" viewBox=\"0 0 800 "
      "450\" "
      "font-family=\"sans-serif\" font-size=\"13\" fill=\"#344054\">\n"
      "<rect width=\"800\" height=\"450\" fill=\"#ffffff\"/>\n";
  out += Text(kLeft, 30, "start", drawing.title,
              "font-size=\"17\" font-weight=\"bold\" fill=\"#101828\"");
  if (points.empty())
    return out + Text(kWidth / 2, kHeight / 2, "middle", "no episode has finished yet") +
           "</svg>\n";
  double low = 0, high = drawing.target.value_or(0);
  double last = static_cast<double>(points.back().steps);
  for (const auto& some : {points, drawing.evaluations}) {
    for (const CurvePoint& point : some) {
      low = std::min(low, point.mean_return);
      high = std::max(high, point.mean_return);
      last = std::max(last, static_cast<double>(point.steps));
    }
  }
  const auto y_ticks = RoundTicks(low, high, 5);
  auto x_ticks = RoundTicks(0, last, 6);
  const Axis x{0, std::max(1.0, last * 1.03), kLeft, kWidth - kRight};
  const Axis y{y_ticks.front(), y_ticks.back(), kHeight - kBottom, kTop};
  std::erase_if(x_ticks, [&](double tick) { return tick > x.high; });
  out += Frame(x, y, x_ticks, y_ticks);
  if (drawing.target) {
    out += Line(kLeft, y.At(*drawing.target), kWidth - kRight, y.At(*drawing.target),
                "stroke=\"#d92d20\" stroke-dasharray=\"6 5\" stroke-width=\"1.2\"");
    out += Text(kLeft + 8, y.At(*drawing.target) - 6, "start", "stop at " + Short(*drawing.target),
                "fill=\"#d92d20\"");
  }
  if (!drawing.evaluations.empty()) out += Legend();
  return out + Path(x, y, points, kTraining) + Path(x, y, drawing.evaluations, kEvaluation) +
         "</svg>\n";
}

}  // namespace murmurate
