// Trajectories of every space: their layout, their checks, their place in a batch.
#include "tests/experience/mixed_trajectory.h"

#include <gmock/gmock.h>

#include <limits>

#include "server/experience/training_batch.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;

std::string Complaint(const MixedTrajectory& mixed) {
  return CheckTrajectory(mixed.View(), MixedLayout()).message();
}

TEST(MixedLayout, EveryColumnHasItsOwnLines) {
  const TrajectoryLayout layout = MixedLayout();
  EXPECT_EQ(layout.row_bytes(), 12u);
  EXPECT_EQ(layout.frames, 2);
  EXPECT_EQ(layout.state_floats, 5);
  EXPECT_EQ(layout.column(Column::kObservation).bytes, 4u * 12);
  EXPECT_EQ(layout.column(Column::kAction).bytes, 4u * 3 * 4);
  EXPECT_EQ(layout.column(Column::kMask).bytes, 4u * 5);
  EXPECT_EQ(layout.column(Column::kState0).bytes, 5u * 4);
  EXPECT_EQ(layout.column(Column::kFrames0).bytes, 2u * 12);
  for (int i = 0; i < kColumnCount; ++i) {
    EXPECT_EQ(layout.columns[i].offset % 64, 0u);
    for (int j = 0; j < i; ++j) EXPECT_NE(layout.columns[i].offset, layout.columns[j].offset);
    EXPECT_LE(layout.columns[i].offset + layout.columns[i].bytes, layout.block_bytes);
  }
}

TEST(MixedLayout, APlainModelHasItsColumnsWhereTheyWere) {
  const TrajectoryLayout layout(Spaces{Box({2}), Discrete(2)}, 4);
  const std::uint32_t offsets[] = {0, 64, 128, 192, 256, 384, 320, 512};
  for (int i = 0; i < kPlainColumnCount; ++i) EXPECT_EQ(layout.columns[i].offset, offsets[i]) << i;
  EXPECT_EQ(layout.column(Column::kState0).bytes, 0u);
  EXPECT_EQ(layout.column(Column::kFrames0).bytes, 0u);
}

TEST(CheckMixed, AcceptsAnOrdinaryOneWithAndWithoutMasks) {
  MixedTrajectory mixed(4, 1);
  EXPECT_EQ(Complaint(mixed), "");
  mixed.AllowEverything();
  EXPECT_EQ(Complaint(mixed), "");
}

TEST(CheckMixed, NamesTheInputAndTheStepOfABadRow) {
  MixedTrajectory mixed(4, 1);
  mixed.observation[2 * 12 + 4] = std::byte{3};
  EXPECT_THAT(Complaint(mixed), HasSubstr("observation of step 2: observation.kind"));
  EXPECT_THAT(Complaint(mixed), HasSubstr("the category 3 where 0 to 2 was expected"));
  mixed = MixedTrajectory(4, 1);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(mixed.next_observation.data(), &nan, sizeof(nan));
  EXPECT_THAT(Complaint(mixed), HasSubstr("next_observation of step 0: observation.place"));
  mixed = MixedTrajectory(4, 1);
  std::memcpy(mixed.frames0.data() + 12, &nan, sizeof(nan));
  EXPECT_THAT(Complaint(mixed), HasSubstr("frames0 of step 1: observation.place"));
}

TEST(CheckMixed, NamesThePartAndTheStepOfABadAction) {
  MixedTrajectory mixed(4, 1);
  mixed.action[3 * 3] = 3;
  EXPECT_THAT(Complaint(mixed), HasSubstr("action of step 3: action.weapon"));
  mixed = MixedTrajectory(4, 1);
  mixed.action[1 * 3 + 2] = std::bit_cast<std::int32_t>(std::numeric_limits<float>::infinity());
  EXPECT_THAT(Complaint(mixed), HasSubstr("action of step 1: action.turn"));
}

TEST(CheckMixed, RefusesAForbiddenChoiceAndAMaskThatForbidsAll) {
  MixedTrajectory mixed(4, 1);
  mixed.AllowEverything();
  mixed.mask[1 * 5 + 1] = 0;  // step 1 chose 1
  EXPECT_THAT(Complaint(mixed), HasSubstr("action of step 1: action.weapon has the choice 1"));
  mixed.AllowEverything();
  mixed.mask[2 * 5 + 3] = mixed.mask[2 * 5 + 4] = 0;
  EXPECT_THAT(Complaint(mixed), HasSubstr("mask of step 2"));
}

TEST(CheckMixed, RefusesColumnsOfAnotherSize) {
  MixedTrajectory mixed(4, 1);
  mixed.mask.assign(19, 1);
  EXPECT_THAT(Complaint(mixed), HasSubstr("mask: expected 20 bytes, got 19"));
  mixed = MixedTrajectory(4, 1);
  mixed.state0.pop_back();
  EXPECT_THAT(Complaint(mixed), HasSubstr("state0: expected 20 bytes, got 16"));
  mixed = MixedTrajectory(4, 1);
  mixed.frames0.resize(12);
  EXPECT_THAT(Complaint(mixed), HasSubstr("frames0: expected 24 bytes, got 12"));
  mixed = MixedTrajectory(4, 1);
  mixed.state0[4] = std::numeric_limits<float>::infinity();
  EXPECT_THAT(Complaint(mixed), HasSubstr("state0 of step 0: expected finite numbers"));
}

TEST(CheckMixed, TellsWhatIsNotFiniteFromWhatIsWrong) {
  MixedTrajectory mixed(4, 1);
  EXPECT_TRUE(HoldsFiniteNumbers(mixed.View(), MixedLayout()));
  mixed.observation[4] = std::byte{7};  // a category that does not exist is finite
  EXPECT_TRUE(HoldsFiniteNumbers(mixed.View(), MixedLayout()));
  mixed.action[2] = std::bit_cast<std::int32_t>(std::numeric_limits<float>::infinity());
  EXPECT_FALSE(HoldsFiniteNumbers(mixed.View(), MixedLayout()));
}

TEST(MixedBatch, KeepsEveryColumnWhenSorted) {
  TrainingBatch batch(MixedLayout(), 2);
  MixedTrajectory late(4, 20), early(3, 10);
  late.agent = 1;
  late.AllowEverything();
  late.mask[0] = 1;
  late.mask[5] = 0;  // step 1: weapon 0 is forbidden
  ASSERT_TRUE(batch.Add(late.View()));
  ASSERT_TRUE(batch.Add(early.View()));
  batch.Sort();
  EXPECT_EQ(PositionIn(batch.ObservationRow(0)), 10.0f);
  EXPECT_EQ(PositionIn(batch.ObservationRow(5)), 21.0f);
  EXPECT_EQ(batch.action[4 * 3 + 3], 1);
  EXPECT_EQ(batch.state0[0], 10.0f);
  EXPECT_EQ(batch.state0[5], 20.0f);
  EXPECT_TRUE(batch.masked);
  EXPECT_EQ(batch.mask[5 * 5], 0);
  EXPECT_EQ(batch.mask[0], 1) << "without a mask everything is allowed";
  EXPECT_EQ(PositionIn(batch.NextRow(1)), 24.0f);
  EXPECT_EQ(CheckTrajectory(batch.View(0), MixedLayout()).message(), "");
  EXPECT_EQ(CheckTrajectory(batch.View(1), MixedLayout()).message(), "");
  batch.Clear();
  EXPECT_FALSE(batch.masked);
}

TEST(MixedBatch, AddsNoRowWithACategoryThatDoesNotExist) {
  TrainingBatch batch(MixedLayout(), 1);
  MixedTrajectory mixed(4, 1);
  mixed.observation[3 * 12 + 4] = std::byte{200};
  EXPECT_FALSE(batch.Add(mixed.View()));
  EXPECT_TRUE(batch.trajectories.empty());
}

std::vector<float> Places(const TrainingBatch& batch, int row) {
  std::vector<const std::byte*> history(3);
  batch.History(row, history);
  std::vector<float> places;
  for (const std::byte* at : history) places.push_back(at == nullptr ? -1.0f : PositionIn(at));
  return places;
}

TEST(MixedBatch, HistoryReachesBackToTheEpisodesStartAndNoFurther) {
  TrainingBatch batch(MixedLayout(), 2);
  MixedTrajectory running(4, 10), split(4, 20);
  split.flags = {kFirst, kTerminatedFlag, kFirst, 0};
  ASSERT_TRUE(batch.Add(running.View()));
  ASSERT_TRUE(batch.Add(split.View()));
  using ::testing::ElementsAre;
  EXPECT_THAT(Places(batch, 0), ElementsAre(10, 9, 8));
  EXPECT_THAT(Places(batch, 1), ElementsAre(11, 10, 9));
  EXPECT_THAT(Places(batch, 3), ElementsAre(13, 12, 11));
  EXPECT_THAT(Places(batch, 4), ElementsAre(20, -1, -1));
  EXPECT_THAT(Places(batch, 5), ElementsAre(21, 20, -1));
  EXPECT_THAT(Places(batch, 6), ElementsAre(22, -1, -1));
  EXPECT_THAT(Places(batch, 7), ElementsAre(23, 22, -1));
}

}  // namespace
}  // namespace murmurate
