#include "server/top/text_columns.h"

#include <gtest/gtest.h>

namespace murmurate {
namespace {

TEST(TextColumns, NothingThatOthersNameMovesACursor) {
  EXPECT_EQ(Printable("a\x1b[2Jb\nc\x7f"), "a?[2Jb?c?");
  EXPECT_EQ(Printable("x\u202Ey\u200Bz"), "x?y?z");
  EXPECT_EQ(Printable("\xC2\x9B"
                      "31m"),
            "?31m")
      << "a control sequence in one character";
  EXPECT_EQ(Printable("caf\xC3\xA9 \xFF"), "caf\xC3\xA9 ?");
}

TEST(TextColumns, WideAndCombiningCharactersCountAsTheyAreShown) {
  EXPECT_EQ(ColumnsOf("abc"), 3);
  EXPECT_EQ(ColumnsOf("\u65E5\u672C"), 4);
  EXPECT_EQ(ColumnsOf("e\u0301"), 1);
  EXPECT_EQ(ColumnsOf("\u28FF"), 1);
  EXPECT_EQ(ColumnsOf("\U0001F600"), 2);
}

TEST(TextColumns, WhatIsTooLongIsCutAndSaysSo) {
  EXPECT_EQ(CutTo("actor-17", 8), "actor-17");
  EXPECT_EQ(CutTo("actor-17", 5), "acto~");
  EXPECT_EQ(CutTo("\u65E5\u672C\u8A9E", 4), "\u65E5~") << "no half of a wide character";
  EXPECT_EQ(CutTo("abc", 0), "");
  EXPECT_EQ(PadBefore("7", 3), "  7");
  EXPECT_EQ(PadBehind("7", 3), "7  ");
  EXPECT_EQ(PadBehind("abcdef", 3), "ab~");
}

}  // namespace
}  // namespace murmurate
