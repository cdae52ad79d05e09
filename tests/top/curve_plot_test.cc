#include "server/top/curve_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "server/top/dot_canvas.h"
#include "server/top/terminal_frame.h"
#include "server/top/text_columns.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;

std::vector<CurvePoint> Rising(int count) {
  std::vector<CurvePoint> points;
  for (int i = 0; i < count; ++i) points.push_back({static_cast<std::uint64_t>(1000 * i), 2.0 * i});
  return points;
}

TEST(DotCanvas, ACharacterHasTheDotsOfUnicode) {
  DotCanvas canvas(3, 1);
  canvas.Line(0, 0, 0, 3, TopStyle::kFirst);   // the left column of the first: dots 1, 2, 3, 7
  canvas.Line(5, 3, 5, 3, TopStyle::kSecond);  // the last dot of the last: dot 8
  const auto lines = canvas.Lines(Glyphs::kBraille);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(PlainText(lines), "\u2847 \u2880\n");
  EXPECT_EQ(lines[0].front().style, TopStyle::kFirst);
  EXPECT_EQ(lines[0].back().style, TopStyle::kSecond);
  EXPECT_EQ(PlainText(canvas.Lines(Glyphs::kAscii)), ": .\n");
}

TEST(DotCanvas, WhatLiesOutsideIsLeftOut) {
  DotCanvas canvas(2, 2);
  canvas.Line(-5, -5, 100, 100, TopStyle::kPlain);
  EXPECT_EQ(PlainText(canvas.Lines(Glyphs::kAscii)), "'.\n\n");
}

TEST(CurvePlot, ARisingCurveGoesFromBelowOnTheLeftToAboveOnTheRight) {
  const auto lines = PlotLines({{"return", Rising(11)}}, {40, 6}, Glyphs::kAscii);
  ASSERT_EQ(lines.size(), 6u);
  const std::string text = PlainText(lines);
  EXPECT_THAT(text, ::testing::StartsWith("20 ")) << text;
  EXPECT_THAT(text, HasSubstr("\n 0 ")) << text;
  EXPECT_THAT(text, HasSubstr("  return  ")) << text;
  EXPECT_THAT(text, ::testing::EndsWith("10 k steps\n")) << text;
  const auto first = [&](std::size_t row) {  // the first dot of a row
    return PlainText({lines[row]}).find_first_of(".:'", 3);
  };
  for (std::size_t row = 1; row < 5; ++row) EXPECT_GT(first(row - 1), first(row)) << text;
}

TEST(CurvePlot, EveryLineFitsAndTooLittleRoomHasNone) {
  for (int columns = 1; columns < 130; columns += 3)
    for (int rows = 0; rows < 30; ++rows) {
      const auto lines = PlotLines({{"return", Rising(400)}, {"evaluated", Rising(3)}},
                                   {columns, rows}, Glyphs::kBraille);
      const bool room = columns >= 24 && rows >= 3;
      ASSERT_EQ(lines.size(), static_cast<std::size_t>(room ? rows : 0));
      for (const TopLine& line : lines) {
        int used = 0;
        for (const TopPiece& piece : line) used += ColumnsOf(piece.text);
        ASSERT_LE(used, columns);
      }
    }
  EXPECT_TRUE(PlotLines({}, {80, 20}, Glyphs::kBraille).empty());
}

TEST(CurvePlot, ACurveThatStaysAndNumbersThatAreNoneAreNoTrouble) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const auto lines =
      PlotLines({{"return", {{100, 5.0}, {200, none}, {300, 5.0}}}}, {40, 5}, Glyphs::kAscii);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_THAT(PlainText(lines), ::testing::StartsWith("5\n  ......"));
  EXPECT_TRUE(PlotLines({{"return", {{1, none}}}}, {40, 5}, Glyphs::kAscii).empty());
  EXPECT_EQ(PlotLines({{"return", {{7, 1.0}}}}, {40, 5}, Glyphs::kAscii).size(), 5u);
}

}  // namespace
}  // namespace murmurate
