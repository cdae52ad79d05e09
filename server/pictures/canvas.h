// Canvas: a small picture of sixteen colours that games are drawn on. x goes right, y goes down; a
// pixel is 1 x 1 and the first one has its corner at (0, 0). What lies outside is left out.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace murmurate {

struct Rgb {
  std::uint8_t red, green, blue;
};

enum class Color : std::uint8_t {
  kBackground,  ///< nearly black
  kPanel,       ///< a dark gray
  kDark,        ///< a gray that lines on the background have
  kGray,
  kLight,  ///< a light gray
  kWhite,
  kBlue,
  kOrange,
  kGreen,
  kRed,
  kPurple,
  kYellow,
  kBrown,
  kSky,
  kPink,
  kTeal,
};
inline constexpr int kColors = 16;
/// The colours by their numbers, the same in every picture.
const std::array<Rgb, kColors>& Palette();

struct Point {
  double x = 0, y = 0;
};

class Canvas {
 public:
  /// All of it is kBackground.
  Canvas(int width, int height);

  int width() const { return width_; }
  int height() const { return height_; }
  /// Rows from the top, each from the left: numbers of colours.
  std::span<const std::uint8_t> pixels() const { return pixels_; }
  Color at(int x, int y) const { return static_cast<Color>(pixels_[Place(x, y)]); }

  void Clear(Color color);
  /// Filled; `corner` is its upper left one.
  void Rectangle(Point corner, double width, double height, Color color);
  void Circle(Point middle, double radius, Color color);  ///< filled
  /// A line with round ends.
  void Line(Point from, Point to, double width, Color color);
  /// A line with a head at `to`, for a force or a speed; nothing when it is shorter than a pixel.
  void Arrow(Point from, Point to, double width, Color color);
  /// Letters of 5 x 7 squares, each `scale` pixels wide, 6 squares apart (font.h).
  void Text(Point corner, std::string_view text, int scale, Color color);
  /// Copies `from` so that its upper left pixel comes to (x, y).
  void Put(const Canvas& from, int x, int y);

 private:
  std::size_t Place(int x, int y) const {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) +
           static_cast<std::size_t>(x);
  }

  const int width_, height_;
  std::vector<std::uint8_t> pixels_;
};

}  // namespace murmurate
