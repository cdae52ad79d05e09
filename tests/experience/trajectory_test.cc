#include "shared/trajectory/trajectory.h"

#include <gmock/gmock.h>

#include <limits>

#include "tests/experience/sample_trajectory.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;

std::string Complaint(const SampleTrajectory& sample) {
  return CheckTrajectory(sample.View(), SampleLayout()).message();
}

TEST(TrajectoryLayout, PlacesEveryColumnOnItsOwnCacheLines) {
  const TrajectoryLayout layout(Spaces{Box({4}), Discrete(2)}, 64);
  std::size_t end = 0;
  for (const Column column :
       {Column::kObservation, Column::kAction, Column::kLogProb, Column::kReward, Column::kFlags,
        Column::kNextObservation, Column::kFinalObservation, Column::kEpisodes}) {
    EXPECT_EQ(layout.column(column).offset % 64, 0u);
    EXPECT_GE(layout.column(column).offset, end);
    end = layout.column(column).offset + layout.column(column).bytes;
  }
  EXPECT_LE(end, layout.block_bytes);
  EXPECT_EQ(layout.column(Column::kObservation).bytes, 64u * 4 * 4);
  EXPECT_EQ(layout.column(Column::kFlags).bytes, 64u);
  EXPECT_EQ(layout.column(Column::kFinalObservation).bytes, 8u * 4 * 4);
}

TEST(CheckTrajectory, AcceptsAnOrdinaryOneAndAShortOne) {
  EXPECT_EQ(Complaint(SampleTrajectory(4, 1)), "");
  EXPECT_EQ(Complaint(SampleTrajectory(1, 1)), "");
}

TEST(CheckTrajectory, RefusesMoreStepsThanT) {
  EXPECT_THAT(Complaint(SampleTrajectory(5, 1)), HasSubstr("steps: expected 0 to 4, got 5"));
}

TEST(CheckTrajectory, NamesTheStepOfANonFiniteNumber) {
  SampleTrajectory sample(4, 1);
  sample.observation[5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(Complaint(sample), HasSubstr("observation of step 2: expected finite numbers"));
  sample = SampleTrajectory(4, 1);
  sample.reward[3] = -std::numeric_limits<float>::infinity();
  EXPECT_THAT(Complaint(sample), HasSubstr("reward of step 3"));
  sample = SampleTrajectory(4, 1);
  sample.log_prob[1] = -std::numeric_limits<float>::infinity();
  EXPECT_THAT(Complaint(sample), HasSubstr("log_prob of step 1"));
}

TEST(CheckTrajectory, RefusesAnActionOutsideTheSpace) {
  SampleTrajectory sample(4, 1);
  sample.action[2] = 2;
  EXPECT_THAT(Complaint(sample), HasSubstr("action of step 2: expected 0 to 1, got 2"));
  sample.action[2] = -1;
  EXPECT_THAT(Complaint(sample), HasSubstr("got -1"));
}

TEST(CheckTrajectory, WantsOneFinalObservationPerTruncation) {
  SampleTrajectory sample(4, 1);
  sample.flags = {0, kTruncatedFlag, kFirst, 0};
  EXPECT_THAT(Complaint(sample), HasSubstr("final_observation: expected 8 bytes, got 0"));
  sample.final_observation = {7, 8};
  EXPECT_EQ(Complaint(sample), "");
}

TEST(CheckTrajectory, RefusesMoreTruncationsThanABatchHasRoomFor) {
  SampleTrajectory sample(4, 1);
  sample.flags = {0, kTruncatedFlag, kFirst | kTruncatedFlag, kFirst};
  sample.final_observation = {7, 8, 9, 10};
  EXPECT_THAT(Complaint(sample), HasSubstr("at most 1 truncated steps in one trajectory, got 2"));
}

TEST(CheckTrajectory, WantsFirstExactlyAfterAnEnd) {
  SampleTrajectory sample(4, 1);
  sample.flags = {0, kTerminatedFlag, 0, 0};
  EXPECT_THAT(Complaint(sample), HasSubstr("flags of step 2"));
  sample.flags = {0, 0, kFirst, 0};
  EXPECT_THAT(Complaint(sample), HasSubstr("flags of step 2"));
  sample.flags = {0, kTerminatedFlag | kTruncatedFlag, kFirst, 0};
  EXPECT_THAT(Complaint(sample), HasSubstr("flags of step 1: an episode ends once"));
}

TEST(CheckTrajectory, RefusesAPositiveLogProbability) {
  SampleTrajectory sample(4, 1);
  sample.log_prob[0] = 0.5f;
  EXPECT_THAT(Complaint(sample), HasSubstr("log_prob of step 0: expected a number <= 0"));
}

TEST(CheckTrajectory, RefusesAColumnOfAnotherLength) {
  SampleTrajectory sample(4, 1);
  sample.reward.pop_back();
  EXPECT_THAT(Complaint(sample), HasSubstr("reward: expected 4 numbers, got 3"));
  sample = SampleTrajectory(4, 1);
  sample.next_observation.clear();
  EXPECT_THAT(Complaint(sample), HasSubstr("next_observation: expected 8 bytes, got 0"));
}

TEST(CheckTrajectory, RefusesANonFiniteEpisodeReturn) {
  SampleTrajectory sample(4, 1);
  sample.episodes.push_back({std::numeric_limits<double>::infinity(), 3, 0});
  EXPECT_THAT(Complaint(sample), HasSubstr("episodes: expected a finite return"));
}

}  // namespace
}  // namespace murmurate
