// Sequences: trajectories of 2 steps, samples of 6.
#include <gmock/gmock.h>

#include "tests/replay/test_replay.h"

namespace murmurate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class SequencesTest : public ::testing::Test {
 protected:
  TestReplay replay_{{.capacity = 64, .sequence = 6}, PlayedLayout(2)};
  PlayedAgent agent_{0};
};

TEST_F(SequencesTest, AreClosedWhenTheirChunksAreThere) {
  EXPECT_THAT(replay_.Insert(agent_.Play("..").View()), IsEmpty());
  EXPECT_THAT(replay_.Insert(agent_.Play("..").View()), IsEmpty());
  EXPECT_THAT(replay_.Insert(agent_.Play("..").View()), ElementsAre(0));
  EXPECT_THAT(replay_.Insert(agent_.Play(".").View()), IsEmpty());
  EXPECT_THAT(replay_.Insert(agent_.Play(".").View()), ElementsAre(2));
}

TEST_F(SequencesTest, RunOverEndsOfEpisodesWithAllFinals) {
  for (const char* steps : {".x", "t.", ".t"}) replay_.Insert(agent_.Play(steps).View());
  const TrainingBatch batch = replay_.Sample(0, 0.5f);
  EXPECT_EQ(batch.trajectories[0].steps, 6);
  EXPECT_THAT(batch.final_row, ElementsAre(2, 5));
  EXPECT_EQ(batch.final_observation[2], 100'006.0f);
  EXPECT_THAT(std::vector<float>(batch.weight.begin(), batch.weight.end()),
              testing::Each(testing::Eq(0.5f)));
  ExpectSample(batch, 0, agent_, replay_.form, 0.5f);
}

TEST_F(SequencesTest, AreShorterWhereTheChainEnds) {
  for (const char* steps : {"..", "..", ".."}) replay_.Insert(agent_.Play(steps).View());
  agent_.Lose(".");
  EXPECT_THAT(replay_.Insert(agent_.Play("..").View()), ElementsAre(2, 4));
  const TrainingBatch batch = replay_.Sample(4);
  EXPECT_EQ(batch.trajectories[0].steps, 2);
  EXPECT_EQ(batch.state0[0], PlayedAgent::StateAt(4));
  EXPECT_EQ(batch.next_observation[0], 7);
}

/// One final observation for each chunk of 2 steps, and three in the first two.
TEST_F(SequencesTest, EndBeforeAFinalObservationThatFindsNoRoom) {
  for (const char* steps : {"tt", "tt", "tt"}) replay_.Insert(agent_.Play(steps).View());
  const TrainingBatch batch = replay_.Sample(0);
  EXPECT_EQ(batch.trajectories[0].steps, 3);
  EXPECT_EQ(batch.final_row.size(), 3u);
  EXPECT_THAT(std::vector<float>(batch.weight.begin(), batch.weight.end()),
              ElementsAre(1, 1, 1, 0, 0, 0));
}

}  // namespace
}  // namespace murmurate
