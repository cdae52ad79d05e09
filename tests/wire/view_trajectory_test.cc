#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/wire/samples.h"

namespace murmurate::wire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ViewTrajectoryTest : public testing::Test {
 protected:
  Status View(std::size_t bytes = 460) {
    return ViewTrajectory(metadata_, std::span<const std::byte>(block_).first(bytes),
                          SampleLayout(), &view_);
  }
  ColumnRange& Range(Column column) { return metadata_.columns[static_cast<int>(column)]; }

  Experience metadata_ = SampleExperience();
  std::vector<std::byte> block_ = SampleBlock();
  TrajectoryView view_;
};

TEST_F(ViewTrajectoryTest, ColumnsAreCutWhereTheMetadataSays) {
  const Status status = View();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(view_.agent, 5u);
  EXPECT_EQ(view_.first_step, 100u);
  EXPECT_EQ(view_.version, 3u);
  EXPECT_EQ(view_.steps, 2);
  EXPECT_THAT(view_.observation, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(view_.action, ElementsAre(1, 0));
  EXPECT_THAT(view_.log_prob, ElementsAre(-0.5f, -0.25f));
  EXPECT_THAT(view_.reward, ElementsAre(1.0f, -1.0f));
  EXPECT_THAT(view_.flags, ElementsAre(kFirst, kTruncatedFlag));
  EXPECT_THAT(view_.final_observation, ElementsAre(7, 8, 9));
  EXPECT_THAT(view_.next_observation, ElementsAre(7, 8, 9));
  ASSERT_EQ(view_.episodes.size(), 1u);
  EXPECT_EQ(view_.episodes[0].raw_return, 12.5);
  EXPECT_EQ(view_.episodes[0].length, 200u);
  EXPECT_TRUE(CheckTrajectory(view_, SampleLayout(), SampleSpaces()).ok());
}

TEST_F(ViewTrajectoryTest, BlockOfEpisodesAloneIsGood) {
  metadata_.steps = 0;
  metadata_.columns = {};
  Range(Column::kEpisodes) = {0, 16};
  ASSERT_TRUE(View().ok());
  EXPECT_EQ(view_.steps, 0);
  EXPECT_TRUE(view_.observation.empty());
  EXPECT_EQ(view_.episodes.size(), 1u);
}

TEST_F(ViewTrajectoryTest, WrongSizesAreRefusedByName) {
  const struct {
    Column column;
    std::uint32_t bytes;
    const char* name;
  } wrong[] = {{Column::kObservation, 20, "observation"},
               {Column::kAction, 4, "action"},
               {Column::kLogProb, 12, "log_prob"},
               {Column::kReward, 0, "reward"},
               {Column::kFlags, 3, "flags"},
               {Column::kFinalObservation, 8, "final_observation"},
               {Column::kNextObservation, 0, "next_observation"},
               {Column::kEpisodes, 15, "episodes"}};
  for (const auto& w : wrong) {
    metadata_ = SampleExperience();
    Range(w.column).bytes = w.bytes;
    const Status status = View();
    EXPECT_EQ(status.code(), StatusCode::kInvalidData);
    EXPECT_THAT(status.message(), HasSubstr(w.name));
  }
}

TEST_F(ViewTrajectoryTest, MoreStepsThanTheLayoutHasAreRefused) {
  metadata_.steps = 9;
  EXPECT_THAT(View().message(), HasSubstr("at most 8, got 9"));
  metadata_.steps = 0xffffffff;
  EXPECT_FALSE(View().ok());
}

TEST_F(ViewTrajectoryTest, MoreFinalsOrEpisodesThanTheLayoutHasAreRefused) {
  block_.resize(100'000);
  Range(Column::kFinalObservation) = {512, 12 * 2};
  EXPECT_THAT(View(100'000).message(), HasSubstr("final_observation"));
  metadata_ = SampleExperience();
  Range(Column::kEpisodes) = {512, 16 * 4000};
  EXPECT_THAT(View(100'000).message(), HasSubstr("episodes"));
}

TEST_F(ViewTrajectoryTest, OffsetsOffTheirBorderOrOutsideAreRefused) {
  Range(Column::kFinalObservation).offset = 452;
  EXPECT_THAT(View().message(), HasSubstr("64-byte border"));
  Range(Column::kFinalObservation).offset = 512;
  EXPECT_THAT(View().message(), HasSubstr("end of the block"));
  Range(Column::kFinalObservation).offset = 0xffffffc0;
  EXPECT_THAT(View().message(), HasSubstr("end of the block"));
}

TEST_F(ViewTrajectoryTest, OverlappingColumnsAreRefused) {
  Range(Column::kReward).offset = 128;
  EXPECT_THAT(View().message(), HasSubstr("lies on another column"));
}

TEST_F(ViewTrajectoryTest, EmptyColumnsMayLieAnywhere) {
  block_[257] = std::byte{0};
  Range(Column::kFinalObservation) = {0xffffffff, 0};
  EXPECT_TRUE(View().ok());
  EXPECT_TRUE(view_.final_observation.empty());
}

TEST_F(ViewTrajectoryTest, MisalignedBlockIsRefusedNotRead) {
  std::vector<std::byte> storage(block_.size() + 8);
  for (std::size_t shift = 1; shift < 8; ++shift) {
    std::copy(block_.begin(), block_.end(), storage.begin() + static_cast<std::ptrdiff_t>(shift));
    const auto block = std::span<const std::byte>(storage).subspan(shift, block_.size());
    EXPECT_FALSE(ViewTrajectory(metadata_, block, SampleLayout(), &view_).ok()) << shift;
  }
}

}  // namespace
}  // namespace murmurate::wire
