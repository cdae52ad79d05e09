#include "server/experience/pieces.h"

#include <gmock/gmock.h>

#include "shared/model/policy_and_value.h"
#include "tests/experience/sample_trajectory.h"

namespace murmurate {
namespace {

using ::testing::ElementsAre;

std::vector<float> Firsts(const TrainingBatch& batch) {
  std::vector<float> firsts;
  for (int slot = 0; slot < static_cast<int>(batch.trajectories.size()); ++slot)
    firsts.push_back(batch.observation[static_cast<std::size_t>(slot * batch.length) *
                                       batch.layout.row_words()]);
  return firsts;
}

TEST(Pieces, ALongerTrajectoryIsAddedInPieces) {
  SampleTrajectory long_one(10, 1);
  long_one.first_step = 50;
  long_one.flags[4] = kTruncatedFlag;
  long_one.flags[5] = kFirst;
  long_one.final_observation = {100, -100};
  long_one.episodes = {{.raw_return = 3.0, .length = 5, .mode = 0}};
  TrajectoryView view = long_one.View();
  ASSERT_TRUE(view.changes.Add(2, 1));
  ASSERT_TRUE(view.changes.Add(6, 3));
  TrainingBatch batch(SampleLayout(), 4);
  EXPECT_EQ(AddInPieces(view, &batch), 10);
  ASSERT_EQ(batch.trajectories.size(), 3u);
  EXPECT_EQ(batch.extra_slots, 2);
  EXPECT_THAT(Firsts(batch), ElementsAre(1, 5, 9));
  EXPECT_THAT(std::vector<float>(batch.weight.begin(), batch.weight.end()),
              ElementsAre(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0));
  EXPECT_EQ(batch.next_observation[0], 5) << "the row that the next piece begins with";
  EXPECT_EQ(batch.next_observation[2], 9);
  EXPECT_EQ(batch.next_observation[4], 11) << "its own";
  ASSERT_EQ(batch.final_row.size(), 1u);
  EXPECT_EQ(batch.final_row[0], 4);
  EXPECT_EQ(batch.final_observation[0], 100);
  EXPECT_EQ(batch.trajectories[1].first_step, 54u);
  EXPECT_EQ(batch.trajectories[1].version, 2u) << "its version 1, and 1 later from step 2 on";
  ASSERT_EQ(batch.trajectories[1].changes.all().size(), 1u);
  EXPECT_EQ(batch.trajectories[1].changes.all()[0].step, 2);
  EXPECT_EQ(batch.trajectories[1].newest_version(), 4u);
  EXPECT_EQ(batch.trajectories[2].version, 4u);
  EXPECT_THAT(batch.episodes, ElementsAre(long_one.episodes[0]));
}

TEST(Pieces, PiecesThatFindNoSlotAreCountedAndLeftOut) {
  TrainingBatch batch(SampleLayout(), 2);
  EXPECT_EQ(AddInPieces(SampleTrajectory(3, 1).View(), &batch), 3);
  EXPECT_EQ(AddInPieces(SampleTrajectory(10, 20).View(), &batch), 4);
  EXPECT_THAT(Firsts(batch), ElementsAre(1, 20));
  EXPECT_EQ(batch.extra_slots, 0);
}

TEST(Pieces, OnlyTheFirstStepsOfALongerTrajectoryWithFramesAreTaken) {
  PolicyAndValue spec{.spaces = SampleSpaces(), .trunk = {}};
  spec.encoders = {InputEncoder{.input = "", .stack = 2, .layers = {}}};
  TrainingBatch batch(TrajectoryLayout(spec, 4), 4);
  const std::vector<float> before = {0, 0};
  const SampleTrajectory long_one(10, 1);
  TrajectoryView view = long_one.View();
  view.frames0 = RowsOf(before);
  EXPECT_EQ(AddInPieces(view, &batch), 4);
  EXPECT_THAT(Firsts(batch), ElementsAre(1));
}

TEST(Pieces, AnotherShapeHoldsTheSameExperience) {
  TrainingBatch batch(SampleLayout(), 3);
  SampleTrajectory first(4, 1), second(3, 10);
  first.episodes = {{.raw_return = 3.0, .length = 5, .mode = 0}};
  second.agent = 1;
  ASSERT_TRUE(batch.Add(first.View()));
  ASSERT_TRUE(batch.Add(second.View()));
  batch.AddEpisodes(std::vector<EpisodeRecord>{{.raw_return = 4.0, .length = 6, .mode = 0}});

  TrainingBatch short_ones(TrajectoryLayout(SampleSpaces(), 2), 6);
  EXPECT_EQ(MoveInPieces(batch, &short_ones), 0u);
  EXPECT_THAT(Firsts(short_ones), ElementsAre(1, 3, 10, 12));
  EXPECT_EQ(short_ones.extra_slots, 2);
  EXPECT_EQ(short_ones.episodes.size(), 2u);

  TrainingBatch long_ones(SampleLayout(), 3);
  EXPECT_EQ(MoveInPieces(short_ones, &long_ones), 1u);
  EXPECT_THAT(Firsts(long_ones), ElementsAre(1, 3, 10)) << "pieces stay pieces";
  EXPECT_EQ(long_ones.extra_slots, 1) << "two trajectories have come, and one slot was too few";
}

TEST(Pieces, WhatIsTruncatedMoreOftenThanTheBatchHasRoomForIsLeftOut) {
  SampleTrajectory often(4, 1);
  for (int step = 0; step < 4; ++step) {
    often.flags[step] = kTruncatedFlag | kFirst;
    often.final_observation.insert(often.final_observation.end(), {1, 1});
  }
  TrainingBatch batch(SampleLayout(), 3);  // one truncation for each slot
  EXPECT_EQ(AddInPieces(often.View(), &batch), 0);
  EXPECT_EQ(batch.trajectories.size(), 0u);
  EXPECT_EQ(batch.extra_slots, -1) << "the trajectory has come, though";
}

}  // namespace
}  // namespace murmurate
