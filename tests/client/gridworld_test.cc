#include "client/environments/gridworld.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace murmurate {
namespace {

using ::testing::ElementsAre;

constexpr char kGrid[] =
    "...#.G."
    "......."  // a door
    "A..#..."
    "#.###.#"  // two doors
    "...#..."
    "...#..."
    ".......";

const std::uint8_t* Map(const Observation& seen) {
  return static_cast<const std::uint8_t*>(seen.parts()[0].data());
}

/// The cells that are set in one plane of the map.
std::vector<int> Plane(const Gridworld& game, int plane) {
  std::vector<int> cells;
  const Observation seen = game.observation();
  for (int cell = 0; cell < 49; ++cell)
    if (Map(seen)[cell * 3 + plane] == 255) cells.push_back(cell);
  return cells;
}

int Facing(const Gridworld& game) {
  return *static_cast<const std::int32_t*>(game.observation().parts()[2].data());
}

TEST(Gridworld, HasThreeInputsAndAMask) {
  Gridworld game;
  EXPECT_EQ(game.spaces().ToText(),
            "observation.map uint8 7 7 3\nobservation.compass float32 2\n"
            "observation.facing categories 4\naction discrete 4\n");
  const Observation seen = game.observation();
  ASSERT_EQ(seen.parts().size(), 3u);
  EXPECT_EQ(seen.parts()[0].name(), "map");
  EXPECT_EQ(seen.parts()[0].count(), 147u);
  EXPECT_EQ(seen.parts()[1].name(), "compass");
  EXPECT_EQ(seen.parts()[2].name(), "facing");
  EXPECT_EQ(seen.mask().size(), 4u);
}

TEST(Gridworld, ShowsWallsAgentGoalAndTheWay) {
  Gridworld game;
  game.SetGrid(kGrid);
  EXPECT_THAT(Plane(game, 0), ElementsAre(3, 17, 21, 23, 24, 25, 27, 31, 38));
  EXPECT_THAT(Plane(game, 1), ElementsAre(14));
  EXPECT_THAT(Plane(game, 2), ElementsAre(5));
  EXPECT_THAT(game.compass(), ElementsAre(-2.0f / 6, 5.0f / 6));
  EXPECT_THAT(game.mask(), ElementsAre(1, 1, 0, 0));  // a wall below, the edge to the left
}

TEST(Gridworld, GoesWhereItIsToldAndEndsAtTheGoal) {
  Gridworld game;
  game.SetGrid(kGrid);
  EXPECT_DOUBLE_EQ(game.best_return(), 1 - 7 * 0.02);
  double sum = 0;
  for (const int move : {0, 1, 1, 1, 1, 1}) {
    const StepOutcome outcome = game.Step(move);
    EXPECT_EQ(outcome.reward, -0.02);
    EXPECT_FALSE(outcome.terminated || outcome.truncated);
    EXPECT_EQ(Facing(game), move);
    sum += outcome.reward;
  }
  EXPECT_THAT(Plane(game, 1), ElementsAre(12));
  EXPECT_THAT(game.compass(), ElementsAre(-1.0f / 6, 0.0f));
  const StepOutcome outcome = game.Step(0);
  EXPECT_TRUE(outcome.terminated);
  EXPECT_FALSE(outcome.truncated);
  EXPECT_DOUBLE_EQ(sum + outcome.reward, 0.86);
}

TEST(Gridworld, IsCutAtItsFiftiethMove) {
  Gridworld game;
  game.SetGrid(kGrid);
  for (int step = 1; step <= 50; ++step) {
    const StepOutcome outcome = game.Step(step % 2 == 1 ? 0 : 2);
    ASSERT_FALSE(outcome.terminated);
    ASSERT_EQ(outcome.truncated, step == 50) << step;
  }
}

TEST(Gridworld, WhatCannotBeReachedInTimeIsNotInTheBestReturn) {
  Gridworld game;
  game.SetGrid(kGrid);
  for (int step = 1; step <= 44; ++step) game.Step(step % 2 == 1 ? 0 : 2);
  EXPECT_DOUBLE_EQ(game.best_return(), -6 * 0.02);
}

TEST(GridworldDeathTest, AForbiddenActionAborts) {
  Gridworld game;
  game.SetGrid(kGrid);
  EXPECT_DEATH(game.Step(2), "forbidden by the mask");
  EXPECT_DEATH(game.Step(3), "forbidden by the mask");
}

TEST(Gridworld, EveryEpisodeHasFourDoorsAndAWay) {
  // Over all 81 grids and 40 x 39 pairs of cells the mean distance is 5.5253 moves (counted by a
  // program of its own), the largest 12.
  Gridworld game;
  game.Reset(1);
  double best = 0, least = 1;
  int doors[49] = {};
  constexpr int kEpisodes = 20000;
  for (int episode = 0; episode < kEpisodes; ++episode) {
    game.Reset();
    const std::vector<int> walls = Plane(game, 0);
    ASSERT_EQ(walls.size(), 9u);
    for (int i = 0; i < 7; ++i) {
      doors[21 + i] += std::ranges::find(walls, 21 + i) == walls.end();
      doors[i * 7 + 3] += std::ranges::find(walls, i * 7 + 3) == walls.end();
    }
    best += game.best_return();
    least = std::min(least, game.best_return());
  }
  EXPECT_NEAR(best / kEpisodes, 1 - 0.02 * 5.5253, 0.0015);
  EXPECT_DOUBLE_EQ(least, 1 - 0.02 * 12);
  EXPECT_EQ(doors[24], 0);
  for (const int door : {21, 22, 23, 25, 26, 27, 3, 10, 17, 31, 38, 45})
    EXPECT_NEAR(doors[door], kEpisodes / 3, 300) << door;
}

TEST(Gridworld, TheSameSeedGivesTheSameEpisodes) {
  Gridworld one, two;
  one.Reset(9);
  two.Reset();
  two.Reset(9);
  for (int episode = 0; episode < 20; ++episode) {
    const Observation a = one.observation(), b = two.observation();
    EXPECT_TRUE(std::equal(Map(a), Map(a) + 147, Map(b)));
    EXPECT_EQ(Facing(one), Facing(two));
    one.Reset();
    two.Reset();
  }
}

}  // namespace
}  // namespace murmurate
