#include "server/top/terminal_frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace murmurate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<TopLine> kPicture{{{"run", TopStyle::kStrong}}, {{"a", TopStyle::kGood}, {"b"}}};

TEST(TerminalFrame, DrawsOverWhatIsThereWithoutClearingItFirst) {
  const std::string frame = TerminalFrame(kPicture, {3, 3}, true);
  EXPECT_THAT(frame, HasSubstr("\x1b[H"));
  EXPECT_THAT(frame, Not(HasSubstr("\x1b[2J")))
      << "an empty screen in between is seen as a flicker";
  EXPECT_THAT(frame, HasSubstr("\x1b[1mrun\x1b[0m\r\n"))
      << "a full line would lose its last column";
  EXPECT_THAT(frame, HasSubstr("\x1b[32ma\x1b[0mb\x1b[K\r\n\x1b[K"))
      << "and the third line is empty";
}

TEST(TerminalFrame, WithoutColourThereIsNone) {
  const std::vector<TopLine> all{{{"a", TopStyle::kGood},
                                  {"b", TopStyle::kWarning},
                                  {"c", TopStyle::kBad},
                                  {"d", TopStyle::kFirst},
                                  {"e", TopStyle::kSecond}}};
  EXPECT_THAT(TerminalFrame(all, {9, 1}, true), HasSubstr("\x1b[3"));
  EXPECT_THAT(TerminalFrame(all, {9, 1}, false), Not(HasSubstr("\x1b[3")));
}

TEST(TerminalFrame, PlainTextHasNoControlSequence) {
  EXPECT_EQ(PlainText({{{"run", TopStyle::kStrong}, {"   "}}, {}, {{"b"}}}), "run\n\nb\n");
}

}  // namespace
}  // namespace murmurate
