#include "server/pictures/text_picture.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace murmurate {
namespace {

constexpr int kLit = 60;  ///< how far from the background a pixel is that is shown without colours

bool Same(const Rgb& a, const Rgb& b) {
  return a.red == b.red && a.green == b.green && a.blue == b.blue;
}

/// The mean of the canvas under pixel (x, y) of a picture of `width` x `height` pixels.
Rgb MeanUnder(const Canvas& canvas, int x, int y, int width, int height) {
  const int left = x * canvas.width() / width, top = y * canvas.height() / height;
  const int right = std::max(left + 1, (x + 1) * canvas.width() / width);
  const int bottom = std::max(top + 1, (y + 1) * canvas.height() / height);
  int red = 0, green = 0, blue = 0;
  for (int row = top; row < bottom; ++row)
    for (int column = left; column < right; ++column) {
      const Rgb& color = Palette()[static_cast<std::size_t>(canvas.at(column, row))];
      red += color.red, green += color.green, blue += color.blue;
    }
  const int count = (right - left) * (bottom - top);
  return {static_cast<std::uint8_t>(red / count), static_cast<std::uint8_t>(green / count),
          static_cast<std::uint8_t>(blue / count)};
}

std::string Code(const char* layer, const Rgb& color, ColorDepth depth) {
  if (depth == ColorDepth::kTrue)
    return std::string("\x1b[") + layer + ";2;" + std::to_string(color.red) + ';' +
           std::to_string(color.green) + ';' + std::to_string(color.blue) + 'm';
  const auto level = [](int part) { return part < 48 ? 0 : part < 115 ? 1 : (part - 35) / 40; };
  const int number = 16 + 36 * level(color.red) + 6 * level(color.green) + level(color.blue);
  return std::string("\x1b[") + layer + ";5;" + std::to_string(number) + 'm';
}

bool Lit(const Rgb& color) {
  const Rgb& ground = Palette()[static_cast<std::size_t>(Color::kBackground)];
  return std::abs(color.red - ground.red) + std::abs(color.green - ground.green) +
             std::abs(color.blue - ground.blue) >
         kLit;
}

const char* PlainCell(const Rgb& upper, const Rgb& lower) {
  if (Lit(upper)) return Lit(lower) ? "█" : "▀";
  return Lit(lower) ? "▄" : " ";
}

/// One line of cells: codes only where a colour changes.
class Line {
 public:
  explicit Line(ColorDepth depth) : depth_(depth) {}
  void Add(const Rgb& upper, const Rgb& lower) {
    if (depth_ == ColorDepth::kNone) {
      text_ += PlainCell(upper, lower);
      return;
    }
    if (first_ || !Same(upper, upper_)) text_ += Code("38", upper, depth_);
    if (first_ || !Same(lower, lower_)) text_ += Code("48", lower, depth_);
    first_ = false;
    upper_ = upper, lower_ = lower;
    text_ += "▀";
  }
  std::string Finish() {
    if (depth_ != ColorDepth::kNone) text_ += "\x1b[0m";
    return std::move(text_);
  }

 private:
  const ColorDepth depth_;
  std::string text_;
  bool first_ = true;
  Rgb upper_{}, lower_{};
};

}  // namespace

ColorDepth DepthOf(const char* no_color, const char* color_term, const char* term) {
  if (no_color != nullptr && *no_color != 0) return ColorDepth::kNone;
  const std::string_view color = color_term == nullptr ? "" : color_term;
  if (color == "truecolor" || color == "24bit") return ColorDepth::kTrue;
  return term != nullptr && std::strstr(term, "256color") ? ColorDepth::kPalette
                                                          : ColorDepth::kNone;
}

std::vector<std::string> TextPicture(const Canvas& canvas, int columns, int rows,
                                     ColorDepth depth) {
  const double scale = std::min(static_cast<double>(columns) / canvas.width(),
                                2.0 * static_cast<double>(rows) / canvas.height());
  const int width = std::clamp(static_cast<int>(scale * canvas.width()), 1, columns);
  const int cells = std::clamp(static_cast<int>(scale * canvas.height()) / 2, 1, rows);
  std::vector<std::string> lines;
  for (int row = 0; row < cells; ++row) {
    Line line(depth);
    for (int x = 0; x < width; ++x)
      line.Add(MeanUnder(canvas, x, 2 * row, width, 2 * cells),
               MeanUnder(canvas, x, 2 * row + 1, width, 2 * cells));
    lines.push_back(line.Finish());
  }
  return lines;
}

}  // namespace murmurate
