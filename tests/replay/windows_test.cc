// Windows by hand: n = 3, trajectories of at most 4 steps.
#include <gmock/gmock.h>

#include "tests/replay/test_replay.h"

namespace murmurate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

ReplaySettings Windows(int window, std::uint64_t capacity = 64) {
  return {.capacity = capacity, .window = window};
}

std::vector<float> Rewards(const TrainingBatch& batch) {
  return {batch.reward.begin(), batch.reward.begin() + batch.trajectories[0].steps};
}

/// What an n-step return bootstraps from: the first number of the next observation.
float NextOf(const TrainingBatch& batch) { return batch.next_observation[0]; }

class WindowsTest : public ::testing::Test {
 protected:
  TestReplay replay_{Windows(3), PlayedLayout(4)};
  PlayedAgent agent_{0};
};

TEST_F(WindowsTest, RunOverTheBorderOfTwoChunks) {
  replay_.Insert(agent_.Play("....").View());
  replay_.Insert(agent_.Play("....").View());
  const TrainingBatch batch = replay_.Sample(3);
  EXPECT_THAT(Rewards(batch), ElementsAre(1.0f, 1.25f, 1.5f));  // steps 3, 4 and 5
  EXPECT_EQ(NextOf(batch), 7);                                  // what step 6 saw
  EXPECT_EQ(NextOf(replay_.Sample(1)), 5);                      // the first row of the other chunk
  EXPECT_EQ(NextOf(replay_.Sample(5)), 9);                      // what no row has seen yet
  EXPECT_TRUE(batch.final_row.empty());
}

TEST_F(WindowsTest, EndWithTheStepThatTerminates) {
  replay_.Insert(agent_.Play(".x..").View());
  const TrainingBatch batch = replay_.Sample(0);
  EXPECT_THAT(Rewards(batch), ElementsAre(0.25f, 0.5f));
  EXPECT_EQ(batch.flags[1], kTerminatedFlag);
  EXPECT_EQ(NextOf(batch), 0) << "the next episode's first row is no successor";
  EXPECT_EQ(replay_.Sample(1).trajectories[0].steps, 1);
}

TEST_F(WindowsTest, BootstrapFromTheFinalObservationOfATruncation) {
  replay_.Insert(agent_.Play("t.t.").View());
  replay_.Insert(agent_.Play("....").View());
  const TrainingBatch batch = replay_.Sample(1);
  EXPECT_THAT(Rewards(batch), ElementsAre(0.5f, 0.75f));
  ASSERT_THAT(batch.final_row, ElementsAre(1));
  EXPECT_EQ(batch.final_observation[0], 100'003.0f);  // the second of its chunk
  EXPECT_EQ(NextOf(batch), 0) << "what follows is another episode";
  EXPECT_EQ(replay_.Sample(0).final_observation[0], 100'001.0f);
  EXPECT_TRUE(replay_.Sample(3).final_row.empty());
}

TEST_F(WindowsTest, AreShorterWhereTheAgentsNextChunkDoesNotFollow) {
  EXPECT_THAT(replay_.Insert(agent_.Play("....").View()), UnorderedElementsAre(0, 1));
  agent_.Lose("..");
  EXPECT_THAT(replay_.Insert(agent_.Play("....").View()), UnorderedElementsAre(2, 3, 4, 5));
  const TrainingBatch batch = replay_.Sample(2);
  EXPECT_THAT(Rewards(batch), ElementsAre(0.75f, 1.0f)) << "k = 2, so gamma^2";
  EXPECT_EQ(NextOf(batch), 5) << "the observation after its own last step";
  EXPECT_EQ(NextOf(replay_.Sample(3)), 5);
  EXPECT_EQ(NextOf(replay_.Sample(4)), 10);
}

/// An episode that was given up has no end, and the next one's first step follows by its number.
TEST_F(WindowsTest, DoNotRunFromAnEpisodeThatWasGivenUpIntoTheNext) {
  replay_.Insert(agent_.Play("....").View());
  agent_.GiveUp();
  EXPECT_THAT(replay_.Insert(agent_.Play("....").View()), UnorderedElementsAre(2, 3, 4, 5));
  EXPECT_THAT(Rewards(replay_.Sample(2)), ElementsAre(0.75f, 1.0f));
}

TEST_F(WindowsTest, OfOtherAgentsLieBetween) {
  PlayedAgent other(1);
  replay_.Insert(agent_.Play("....").View());
  replay_.Insert(other.Play("....").View());
  EXPECT_THAT(replay_.Insert(agent_.Play(".").View()), UnorderedElementsAre(2));
  EXPECT_THAT(replay_.Insert(agent_.Play(".").View()), UnorderedElementsAre(3));
  EXPECT_THAT(Rewards(replay_.Sample(3)), ElementsAre(1.0f, 1.25f, 1.5f));
  EXPECT_EQ(NextOf(replay_.Sample(3)), 7);
}

TEST_F(WindowsTest, OpenRowsCloseWithTheEndOfTheirEpisode) {
  EXPECT_THAT(replay_.Insert(agent_.Play("..").View()), IsEmpty());
  EXPECT_THAT(replay_.Insert(agent_.Play("x.").View()), UnorderedElementsAre(0, 1, 2));
  EXPECT_EQ(replay_.windows.closed(), 3u);
  EXPECT_FALSE(replay_.windows.IsClosed(3));
}

TEST(OneStepWindows, AreClosedAtOnce) {
  TestReplay replay(Windows(1), PlayedLayout(4));
  PlayedAgent agent(0);
  EXPECT_THAT(replay.Insert(agent.Play("....").View()), UnorderedElementsAre(0, 1, 2, 3));
  EXPECT_EQ(NextOf(replay.Sample(3)), 5);
  EXPECT_EQ(NextOf(replay.Sample(2)), 4);
}

/// The ring has room for two chunks: the third evicts the first, whose agent goes on.
TEST(Eviction, CutsAChainButNoWindowAndNoStack) {
  TestReplay replay(Windows(3, 9), PlayedLayout(4));
  PlayedAgent agent(0);
  for (int i = 0; i < 3; ++i) replay.Insert(agent.Play("....").View());
  EXPECT_EQ(replay.rows.first_row(), 4u);
  EXPECT_FALSE(replay.rows.Keeps(3));
  EXPECT_EQ(replay.windows.closed(), 6u);
  const TrainingBatch batch = replay.Sample(4);
  EXPECT_THAT(Rewards(batch), ElementsAre(1.25f, 1.5f, 1.75f));
  EXPECT_THAT((std::vector<float>(batch.frames0.begin(), batch.frames0.end())),
              ElementsAre(2, -2, 3, -3, 4, -4))
      << "rows 1, 2 and 3, which are evicted";
}

/// The rows that wait for their windows may be evicted before these are closed.
TEST(Eviction, OfOpenRowsLeavesNoneClosed) {
  TestReplay replay(Windows(6, 10), PlayedLayout(4));
  PlayedAgent agent(0), other(1);
  replay.Insert(agent.Play("..").View());
  replay.Insert(other.Play("....").View());
  replay.Insert(other.Play("...").View());
  replay.Insert(other.Play("...").View());
  EXPECT_EQ(replay.rows.first_row(), 2u);
  EXPECT_THAT(replay.Insert(agent.Play("x").View()), ElementsAre(12));
}

/// Rows of 400 KB, and room for 41 beside the ring: the next observation of a chunk that goes on is
/// in the ring.
TEST(Eviction, OneAgentsShortestChunksFillTheRing) {
  TestReplay replay(Windows(1, 80), PlayedLayout(4, 100'000));
  PlayedAgent agent(0, 100'000);
  for (int i = 0; i < 170; ++i) replay.Insert(agent.Play(i % 20 == 19 ? "t" : ".").View());
  EXPECT_EQ(replay.rows.size(), 80u);
}

std::vector<float> FramesOf(const TrainingBatch& batch) {
  std::vector<float> frames;
  for (std::size_t i = 0; i < batch.frames0.size(); i += 2) frames.push_back(batch.frames0[i]);
  return frames;
}

TEST(Stacks, AtAnEpisodesFirstRowsAndAtAChunksFirst) {
  TestReplay replay(Windows(1), PlayedLayout(4));
  PlayedAgent agent(0);
  replay.Insert(agent.Play("..x.").View());  // the next episode begins with row 3
  replay.Insert(agent.Play("....").View());
  EXPECT_THAT(FramesOf(replay.Sample(0)), ElementsAre(0, 0, 0));
  EXPECT_THAT(FramesOf(replay.Sample(1)), ElementsAre(0, 0, 1));
  EXPECT_THAT(FramesOf(replay.Sample(2)), ElementsAre(0, 1, 2));
  EXPECT_THAT(FramesOf(replay.Sample(3)), ElementsAre(0, 0, 0)) << "an episode begins";
  EXPECT_THAT(FramesOf(replay.Sample(4)), ElementsAre(0, 0, 4)) << "the chunk before it";
  EXPECT_THAT(FramesOf(replay.Sample(5)), ElementsAre(0, 4, 5));
  EXPECT_THAT(FramesOf(replay.Sample(6)), ElementsAre(4, 5, 6));
}

TEST(Stacks, OfAChainsFirstChunkHaveTheFramesThatCameWithIt) {
  TestReplay replay(Windows(1), PlayedLayout(4));
  PlayedAgent agent(0);
  agent.Lose("..");
  replay.Insert(agent.Play("...").View());
  EXPECT_THAT(FramesOf(replay.Sample(0)), ElementsAre(0, 1, 2));
  EXPECT_THAT(FramesOf(replay.Sample(1)), ElementsAre(1, 2, 3));
}

TEST(Stacks, OverChunksShorterThanThem) {
  TestReplay replay(Windows(1, 5), PlayedLayout(4));
  PlayedAgent agent(0);
  for (int i = 0; i < 9; ++i) replay.Insert(agent.Play(".").View());
  EXPECT_EQ(replay.rows.first_row(), 4u);
  EXPECT_THAT(FramesOf(replay.Sample(4)), ElementsAre(2, 3, 4));
  EXPECT_THAT(FramesOf(replay.Sample(5)), ElementsAre(3, 4, 5));
  EXPECT_THAT(FramesOf(replay.Sample(8)), ElementsAre(6, 7, 8));
}

TEST(States, AreGivenWhereAChunkBegins) {
  TestReplay replay(Windows(2), PlayedLayout(4));
  PlayedAgent agent(0);
  replay.Insert(agent.Play("....").View());
  replay.Insert(agent.Play("....").View());
  EXPECT_EQ(replay.Sample(4).state0[0], 4.5f);
  EXPECT_EQ(replay.Sample(5).state0[0], 0.0f);
}

}  // namespace
}  // namespace murmurate
