// Numbers that come late, twice, or never.
#include "server/stream/sequence_window.h"

#include <gtest/gtest.h>

#include <set>

#include "shared/core/random.h"

namespace murmurate {
namespace {

using Position = SequenceWindow::Position;

TEST(SequenceWindow, TellsLateFromSeen) {
  SequenceWindow seen;
  EXPECT_EQ(seen.Find(4), Position::kNext);
  EXPECT_EQ(seen.Insert(4), 0) << "what came before the first number is not missing";
  EXPECT_EQ(seen.Insert(8), 3);
  EXPECT_EQ(seen.Find(6), Position::kLate);
  EXPECT_EQ(seen.Insert(6), -1);
  EXPECT_EQ(seen.Find(6), Position::kSeen);
  EXPECT_EQ(seen.Find(8), Position::kSeen);
  EXPECT_EQ(seen.Find(3), Position::kLate) << "the first two may have been swapped";
  EXPECT_EQ(seen.Insert(3), 0) << "it was not counted as missing";
  EXPECT_EQ(seen.Find(3), Position::kSeen);
}

TEST(SequenceWindow, KnowsWhatOneNumberOvertookHoweverManyTheyAre) {
  SequenceWindow seen;
  std::int64_t missing = 0;
  for (std::uint64_t n = 1; n <= 1045; ++n) missing += seen.Insert(n);
  missing += seen.Insert(2856);
  EXPECT_EQ(missing, 1810);
  for (std::uint64_t n = 1046; n < 2856; ++n) {
    ASSERT_EQ(seen.Find(n), Position::kLate) << n;
    missing += seen.Insert(n);
    ASSERT_EQ(seen.Find(n), Position::kSeen) << n;
  }
  EXPECT_EQ(missing, 0);
  EXPECT_EQ(seen.Find(2857), Position::kNext);
}

/// Against a set of all numbers, for disorder within the window.
TEST(SequenceWindow, IsExactWithinTheWindow) {
  Random random(3);
  SequenceWindow seen;
  std::set<std::uint64_t> all;
  std::int64_t missing = 0;
  std::uint64_t base = 1, first = 0;
  for (int i = 0; i < 20'000; ++i, base += random.UniformInt(2)) {
    const std::uint64_t number = base + random.UniformInt(SequenceWindow::kWindow / 2);
    const bool above = all.empty() || number > *all.rbegin();
    const Position expected = all.contains(number) ? Position::kSeen
                              : above              ? Position::kNext
                                                   : Position::kLate;
    ASSERT_EQ(seen.Find(number), expected) << number;
    if (expected == Position::kSeen) continue;
    if (all.empty()) first = number;
    missing += seen.Insert(number);
    all.insert(number);
  }
  std::int64_t holes = 0;
  for (std::uint64_t number = first; number < *all.rbegin(); ++number)
    holes += !all.contains(number);
  EXPECT_EQ(missing, holes) << "from the first number that came on";
}

TEST(SequenceWindow, ComesBackFromACheckpointAsItWas) {
  SequenceWindow seen, again;
  for (const std::uint64_t n : {5u, 7u, 8u, 4000u, 4002u, 9000u}) (void)seen.Insert(n);
  std::vector<std::uint64_t> words;
  seen.Save(&words);
  ASSERT_EQ(words.size(), SequenceWindow::kWords);
  ASSERT_TRUE(again.Load(words));
  for (std::uint64_t n = 1; n < 9100; ++n) ASSERT_EQ(again.Find(n), seen.Find(n)) << n;
  words.back() = 0;
  words.pop_back();
  EXPECT_FALSE(again.Load(words));
}

}  // namespace
}  // namespace murmurate
