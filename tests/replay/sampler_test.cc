#include "server/replay/sampler.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/replay/test_replay.h"

namespace murmurate {
namespace {

class Drawn : public TestReplay {
 public:
  using TestReplay::TestReplay;

  /// How often each row is drawn.
  std::map<std::uint64_t, int> Draw(int draws) {
    std::map<std::uint64_t, int> counts;
    std::vector<std::uint64_t> drawn(10);
    std::vector<float> weights(10);
    for (int draw = 0; draw < draws / 10; ++draw) {
      sampler.Draw(drawn, weights);
      for (const std::uint64_t row : drawn) ++counts[row];
    }
    return counts;
  }
};

double ChiSquare(const std::map<std::uint64_t, int>& counts, double expected) {
  double sum = 0;
  for (const auto& [row, count] : counts) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

/// Limits of chi-square at one in a thousand.
TEST(Sampler, DrawsEveryClosedRowWithTheSameChance) {
  Drawn drawn({.capacity = 60, .window = 3, .minibatch = 10}, PlayedLayout(4));
  std::vector<PlayedAgent> agents = {PlayedAgent(0), PlayedAgent(1), PlayedAgent(2)};
  for (int i = 0; i < 30; ++i)
    drawn.Insert(agents[static_cast<std::size_t>(i) % 3].Play(i % 7 == 3 ? ".x.." : "....").View());
  const auto counts = drawn.Draw(60'000);
  EXPECT_EQ(counts.size(), drawn.windows.closed());
  for (const auto& [row, count] : counts) EXPECT_TRUE(drawn.windows.IsClosed(row));
  EXPECT_LT(ChiSquare(counts, 60'000.0 / static_cast<double>(counts.size())), 92.0);
}

/// One row in 250 begins a sequence.
TEST(Sampler, DrawsEverySequenceWithTheSameChanceWhateverItsChunksLength) {
  Drawn drawn({.capacity = 3000, .sequence = 400, .minibatch = 10}, PlayedLayout(400));
  PlayedAgent agent(0);
  for (int i = 0; i < 15; ++i)
    drawn.Insert(agent.Play(std::string(i % 2 == 0 ? 400 : 100, '.')).View());
  const auto counts = drawn.Draw(20'000);
  EXPECT_EQ(counts.size(), drawn.windows.closed());
  EXPECT_GT(counts.size(), 8u);
  EXPECT_LT(ChiSquare(counts, 20'000.0 / static_cast<double>(counts.size())), 33.0);
}

/// Nearly every row waits for its window.
TEST(Sampler, FindsTheOneClosedRow) {
  Drawn drawn({.capacity = 6000, .window = 100, .minibatch = 10}, PlayedLayout(1));
  std::vector<PlayedAgent> agents;
  for (std::uint32_t i = 0; i < 60; ++i) agents.emplace_back(i);
  for (int step = 0; step < 99; ++step)
    for (PlayedAgent& agent : agents) drawn.Insert(agent.Play(".").View());
  drawn.Insert(agents[20].Play(".").View());
  const auto counts = drawn.Draw(50);
  EXPECT_EQ(counts, (std::map<std::uint64_t, int>{{20, 50}}));
}

/// The row was evicted and its place has another one, before the error of its sample came back.
TEST(Sampler, AnErrorOfARowThatIsGoneIsNotWrittenToTheOneInItsPlace) {
  Drawn drawn({.capacity = 8, .minibatch = 10, .priority_exponent = 1.0}, PlayedLayout(4));
  PlayedAgent agent(0);
  for (int i = 0; i < 4; ++i) drawn.Insert(agent.Play("....").View());
  ASSERT_EQ(drawn.rows.first_row(), 8u);
  drawn.sampler.SetError(3, 1e6f);   // lies where row 11 lies now
  drawn.sampler.SetError(16, 1e6f);  // is not there yet
  const auto counts = drawn.Draw(8'000);
  EXPECT_EQ(counts.size(), 8u);
  EXPECT_NEAR(counts.at(11), 1000, 150);
  drawn.sampler.SetError(11, 99.0f);
  EXPECT_NEAR(drawn.Draw(8'000).at(11), 8'000 * 99 / 106, 150);
}

TEST(Sampler, EvictedRowsAreNeverDrawn) {
  for (const double exponent : {0.0, 0.7}) {
    Drawn drawn({.capacity = 21, .minibatch = 10, .priority_exponent = exponent}, PlayedLayout(4));
    PlayedAgent agent(0);
    for (int i = 0; i < 50; ++i) {
      drawn.Insert(agent.Play(i % 3 == 0 ? "..." : "....").View());
      for (const auto& [row, count] : drawn.Draw(40)) {
        ASSERT_TRUE(drawn.rows.Keeps(row));
        ASSERT_TRUE(drawn.windows.IsClosed(row));
      }
    }
  }
}

TEST(Sampler, GoesOnWithTheDrawsThatItWouldHaveMade) {
  const ReplaySettings settings{.capacity = 21, .minibatch = 10, .priority_exponent = 0.5};
  Drawn drawn(settings, PlayedLayout(4)), other(settings, PlayedLayout(4));
  PlayedAgent agent(0), same(0);
  drawn.Insert(agent.Play("....").View());
  drawn.Draw(50);
  drawn.sampler.SetError(2, 8.0f);
  SavedState saved;
  drawn.sampler.Save(StateWriter(&saved, "store"));
  ASSERT_TRUE(other.sampler.Load(StateReader(saved, "store")).ok());
  other.Insert(same.Play("....").View());
  other.sampler.SetError(2, 8.0f);
  for (const std::uint64_t row : {0, 1, 3}) other.sampler.SetError(row, 1.0f - 1e-6f);
  EXPECT_EQ(drawn.Draw(50), other.Draw(50));
  EXPECT_FALSE(other.sampler.Load(StateReader(SavedState(), "store")).ok());
}

}  // namespace
}  // namespace murmurate
