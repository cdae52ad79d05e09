#include "server/pictures/text_picture.h"

#include <gtest/gtest.h>

#include <utility>

namespace murmurate {
namespace {

Canvas TwoByFour() {
  Canvas canvas(2, 4);
  canvas.Rectangle({0, 0}, 1, 1, Color::kWhite);
  canvas.Rectangle({1, 1}, 1, 1, Color::kWhite);
  canvas.Rectangle({0, 2}, 1, 2, Color::kWhite);
  return canvas;
}

TEST(TextPicture, WithoutColoursAPixelIsHalfABlock) {
  EXPECT_EQ(TextPicture(TwoByFour(), 2, 2, ColorDepth::kNone),
            (std::vector<std::string>{"▀▄", "█ "}));
}

TEST(TextPicture, ColoursAreSaidWhereTheyChange) {
  const auto lines = TextPicture(TwoByFour(), 2, 2, ColorDepth::kTrue);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0],
            "\x1b[38;2;246;248;250m\x1b[48;2;20;24;32m▀"
            "\x1b[38;2;20;24;32m\x1b[48;2;246;248;250m▀\x1b[0m");
  const Canvas plain(8, 2);
  EXPECT_EQ(TextPicture(plain, 8, 1, ColorDepth::kPalette)[0],
            "\x1b[38;5;16m\x1b[48;5;16m▀▀▀▀▀▀▀▀\x1b[0m");
}

TEST(TextPicture, FitsWhateverTheTerminalAndKeepsTheShape) {
  const Canvas canvas(320, 240);
  const auto cells = [](const std::string& line) {
    return std::count(line.begin(), line.end(), ' ');
  };
  for (const auto& [columns, rows] : {std::pair{80, 22}, {20, 100}, {1, 1}, {320, 120}}) {
    const auto lines = TextPicture(canvas, columns, rows, ColorDepth::kNone);
    EXPECT_LE(lines.size(), static_cast<std::size_t>(rows));
    EXPECT_LE(cells(lines[0]), columns);
  }
  const auto usual = TextPicture(canvas, 80, 22, ColorDepth::kNone);
  EXPECT_EQ(usual.size(), 22u);
  EXPECT_EQ(cells(usual[0]), 58);
}

TEST(TextPicture, TheTerminalSaysHowManyColours) {
  EXPECT_EQ(DepthOf(nullptr, "truecolor", "xterm"), ColorDepth::kTrue);
  EXPECT_EQ(DepthOf("", "24bit", "xterm"), ColorDepth::kTrue);
  EXPECT_EQ(DepthOf("1", "truecolor", "xterm-256color"), ColorDepth::kNone);
  EXPECT_EQ(DepthOf(nullptr, nullptr, "xterm-256color"), ColorDepth::kPalette);
  EXPECT_EQ(DepthOf(nullptr, nullptr, "linux"), ColorDepth::kNone);
}

}  // namespace
}  // namespace murmurate
