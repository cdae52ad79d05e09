#include "client/environments/recall.h"

#include <gtest/gtest.h>

#include <vector>

namespace murmurate {
namespace {

/// What an episode shows, its question included; leaves the game there.
std::vector<int> Show(Recall& game, int action) {
  std::vector<int> shown = {game.shown()};
  while (shown.back() != Recall::kQuestion && shown.size() < 100) {
    const StepOutcome outcome = game.Step(action);
    EXPECT_FALSE(outcome.terminated || outcome.truncated);
    EXPECT_EQ(outcome.reward, 0);
    shown.push_back(game.shown());
  }
  return shown;
}

TEST(Recall, ShowsACueThenDistractorsThenTheQuestion) {
  for (const int distractors : {0, 1, 8}) {
    Recall game(distractors);
    for (int episode = 0; episode < 100; ++episode) {
      const std::vector<int> shown = Show(game, episode % 4);
      ASSERT_EQ(shown.size(), static_cast<std::size_t>(distractors) + 2);
      EXPECT_LT(shown[0], 4);
      for (int i = 1; i <= distractors; ++i) {
        EXPECT_GE(shown[static_cast<std::size_t>(i)], 4);
        EXPECT_LT(shown[static_cast<std::size_t>(i)], 8);
      }
      EXPECT_TRUE(game.Step(0).terminated);
      game.Reset();
    }
  }
}

TEST(Recall, OnlyTheCueIsRight) {
  Recall game;
  for (int episode = 0; episode < 100; ++episode) {
    const int cue = Show(game, 0)[0], answer = episode % 4;
    const StepOutcome outcome = game.Step(answer);
    EXPECT_EQ(outcome.reward, answer == cue ? 1 : 0);
    EXPECT_TRUE(outcome.terminated);
    game.Reset();
  }
}

TEST(Recall, NothingThatIsShownLaterTellsTheCue) {
  // Cue and last distractor: 16 pairs of one probability. 15 degrees of freedom: chi-squared is
  // above 44 in one of 10^4 draws.
  Recall game;
  game.Reset(3);
  int times[4][4] = {};
  for (int episode = 0; episode < 16000; ++episode) {
    const std::vector<int> shown = Show(game, 0);
    ++times[shown[0]][shown[8] - 4];
    game.Reset();
  }
  double chi_squared = 0;
  for (const auto& row : times)
    for (const int n : row) chi_squared += (n - 1000.0) * (n - 1000.0) / 1000.0;
  EXPECT_LT(chi_squared, 44);
}

TEST(Recall, WhoGuessesGetsAQuarter) {
  Recall game;
  game.Reset(4);
  double sum = 0;
  for (int episode = 0; episode < 4000; ++episode) {
    Show(game, 0);
    sum += game.Step(episode / 10 % 4).reward;
    game.Reset();
  }
  EXPECT_NEAR(sum / 4000, 0.25, 0.03);
}

TEST(Recall, TheSameSeedGivesTheSameEpisodes) {
  Recall one, two;
  one.Reset(9);
  Show(two, 0);
  two.Reset(9);
  for (int episode = 0; episode < 20; ++episode) {
    EXPECT_EQ(Show(one, 1), Show(two, 2));
    one.Reset();
    two.Reset();
  }
}

}  // namespace
}  // namespace murmurate
