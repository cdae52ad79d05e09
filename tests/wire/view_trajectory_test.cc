#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/experience/mixed_trajectory.h"
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
  EXPECT_THAT(NumbersOf(view_.observation), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(view_.action, ElementsAre(1, 0));
  EXPECT_THAT(view_.log_prob, ElementsAre(-0.5f, -0.25f));
  EXPECT_THAT(view_.reward, ElementsAre(1.0f, -1.0f));
  EXPECT_THAT(view_.flags, ElementsAre(kFirst, kTruncatedFlag));
  EXPECT_THAT(NumbersOf(view_.final_observation), ElementsAre(7, 8, 9));
  EXPECT_THAT(NumbersOf(view_.next_observation), ElementsAre(7, 8, 9));
  ASSERT_EQ(view_.episodes.size(), 1u);
  EXPECT_EQ(view_.episodes[0].raw_return, 12.5);
  EXPECT_EQ(view_.episodes[0].length, 200u);
  EXPECT_TRUE(CheckTrajectory(view_, SampleLayout()).ok());
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

TEST_F(ViewTrajectoryTest, MasksMayBeThereAndHaveOneByteForEachChoice) {
  block_.resize(516, std::byte{1});
  Range(Column::kMask) = {512, 4};
  ASSERT_TRUE(View(516).ok()) << View(516);
  EXPECT_THAT(view_.mask, ElementsAre(1, 1, 1, 1));
  Range(Column::kMask).bytes = 3;
  EXPECT_THAT(View(516).message(), HasSubstr("mask: expected 4 bytes, got 3"));
}

TEST_F(ViewTrajectoryTest, APlainModelHasNeitherStateNorFrames) {
  block_.resize(536);
  Range(Column::kState0) = {512, 24};
  EXPECT_THAT(View(536).message(), HasSubstr("state0: expected 0 bytes, got 24"));
  Range(Column::kState0) = {};
  Range(Column::kFrames0) = {512, 12};
  EXPECT_THAT(View(536).message(), HasSubstr("frames0: expected 0 bytes, got 12"));
}

TEST_F(ViewTrajectoryTest, StateAndFramesAreCutAndMustBeThere) {
  const TrajectoryLayout layout = MixedLayout();
  const std::vector<std::byte> block(layout.block_bytes);
  const auto view = [&] { return ViewTrajectory(metadata_, block, layout, &view_); };
  metadata_.steps = 2;
  metadata_.columns = {};
  for (const Column column :
       {Column::kObservation, Column::kAction, Column::kLogProb, Column::kReward, Column::kFlags,
        Column::kNextObservation, Column::kState0, Column::kFrames0}) {
    Range(column) = {layout.column(column).offset,
                     static_cast<std::uint32_t>(layout.FilledBytes(column, 2))};
  }
  ASSERT_TRUE(view().ok()) << view();
  EXPECT_EQ(view_.observation.size(), 2u * 12);
  EXPECT_EQ(view_.action.size(), 2u * 3);
  EXPECT_EQ(view_.state0.size(), 5u);
  EXPECT_EQ(view_.frames0.size(), 2u * 12);
  EXPECT_TRUE(view_.mask.empty());
  Range(Column::kFrames0) = {};
  EXPECT_THAT(view().message(), HasSubstr("frames0: expected 24 bytes, got 0"));
}

}  // namespace
}  // namespace murmurate::wire
