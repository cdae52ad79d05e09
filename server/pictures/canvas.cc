#include "server/pictures/canvas.h"

#include <algorithm>
#include <cmath>

#include "server/pictures/font.h"

namespace murmurate {
namespace {

/// The numbers of the pixels whose middle lies in [low, high], of `count`.
struct PixelRange {
  int first, last;
  PixelRange(double low, double high, int count)
      : first(std::max(0, static_cast<int>(std::ceil(std::max(low, -1.0) - 0.5)))),
        last(std::min(count - 1, static_cast<int>(std::floor(std::min(high, count + 1.0) - 0.5)))) {
  }
};

double SquaredDistance(Point point, Point from, Point to) {
  const double along_x = to.x - from.x, along_y = to.y - from.y;
  const double square = along_x * along_x + along_y * along_y;
  double part = 0;
  if (square > 0)
    part = std::clamp(((point.x - from.x) * along_x + (point.y - from.y) * along_y) / square, 0.0,
                      1.0);
  const double dx = point.x - from.x - part * along_x, dy = point.y - from.y - part * along_y;
  return dx * dx + dy * dy;
}

}  // namespace

const std::array<Rgb, kColors>& Palette() {
  static constexpr std::array<Rgb, kColors> kPalette = {{{20, 24, 32},
                                                         {38, 44, 56},
                                                         {70, 78, 92},
                                                         {128, 136, 150},
                                                         {196, 202, 212},
                                                         {246, 248, 250},
                                                         {66, 133, 244},
                                                         {255, 150, 50},
                                                         {76, 187, 106},
                                                         {232, 72, 72},
                                                         {160, 108, 226},
                                                         {250, 210, 70},
                                                         {146, 104, 70},
                                                         {120, 190, 250},
                                                         {244, 130, 180},
                                                         {60, 190, 190}}};
  return kPalette;
}

Canvas::Canvas(int width, int height)
    : width_(width),
      height_(height),
      pixels_(static_cast<std::size_t>(width) * static_cast<std::size_t>(height)) {}

void Canvas::Clear(Color color) { std::ranges::fill(pixels_, static_cast<std::uint8_t>(color)); }

void Canvas::Rectangle(Point corner, double width, double height, Color color) {
  const PixelRange columns(corner.x, corner.x + width, width_);
  const PixelRange rows(corner.y, corner.y + height, height_);
  for (int y = rows.first; y <= rows.last; ++y)
    for (int x = columns.first; x <= columns.last; ++x)
      pixels_[Place(x, y)] = static_cast<std::uint8_t>(color);
}

void Canvas::Circle(Point middle, double radius, Color color) {
  Line(middle, middle, 2 * radius, color);
}

void Canvas::Line(Point from, Point to, double width, Color color) {
  const double radius = width / 2;
  const PixelRange columns(std::min(from.x, to.x) - radius, std::max(from.x, to.x) + radius,
                           width_);
  const PixelRange rows(std::min(from.y, to.y) - radius, std::max(from.y, to.y) + radius, height_);
  for (int y = rows.first; y <= rows.last; ++y)
    for (int x = columns.first; x <= columns.last; ++x)
      if (SquaredDistance({x + 0.5, y + 0.5}, from, to) <= radius * radius)
        pixels_[Place(x, y)] = static_cast<std::uint8_t>(color);
}

void Canvas::Arrow(Point from, Point to, double width, Color color) {
  const double length = std::hypot(to.x - from.x, to.y - from.y);
  if (length < 1) return;
  Line(from, to, width, color);
  const double back = std::min(3 * width, length);
  const Point along = {(to.x - from.x) / length * back, (to.y - from.y) / length * back};
  for (const double side : {-0.7, 0.7})
    Line(to, {to.x - along.x - side * along.y, to.y - along.y + side * along.x}, width, color);
}

void Canvas::Text(Point corner, std::string_view text, int scale, Color color) {
  for (const char letter : text) {
    const std::string_view squares = SquaresOf(letter);
    for (int i = 0; i < kLetterWidth * kLetterHeight; ++i)
      if (squares[static_cast<std::size_t>(i)] != ' ')
        Rectangle({corner.x + scale * (i % kLetterWidth), corner.y + scale * (i / kLetterWidth)},
                  scale, scale, color);
    corner.x += scale * (kLetterWidth + 1);
  }
}

void Canvas::Put(const Canvas& from, int x, int y) {
  for (int row = std::max(0, -y); row < from.height_ && row + y < height_; ++row)
    for (int column = std::max(0, -x); column < from.width_ && column + x < width_; ++column)
      pixels_[Place(column + x, row + y)] = from.pixels_[from.Place(column, row)];
}

}  // namespace murmurate
