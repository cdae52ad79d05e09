// What the recorder writes for a model that has everything, as the learner will read it.
#include "client/trajectory_recorder.h"

#include <gmock/gmock.h>

#include <vector>

#include "shared/wire/messages.h"
#include "tests/experience/mixed_trajectory.h"

namespace murmurate {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

class TrajectoryRecorderTest : public testing::Test {
 protected:
  TrajectoryRecorderTest() { recorder_.Attach(&ring_); }

  void Start() {
    model_.credit.Overdraw();
    ASSERT_TRUE(recorder_.Start({7, 1}, 100));
    std::copy(lived_.state0.begin(), lived_.state0.end(), recorder_.state0().begin());
    std::copy(lived_.frames0.begin(), lived_.frames0.end(), recorder_.frames0().begin());
  }
  void Record(int step, std::span<const std::uint8_t> mask = {}) {
    const std::size_t i = static_cast<std::size_t>(step);
    const auto row =
        std::span(lived_.observation).subspan(i * MixedTrajectory::kRow, MixedTrajectory::kRow);
    const auto action =
        std::span(lived_.action).subspan(i * MixedTrajectory::kWords, MixedTrajectory::kWords);
    recorder_.Record(row, action, lived_.log_prob[i], step == 0, mask);
    recorder_.SetReward(lived_.reward[i]);
  }
  /// The block handed over, cut and checked as the learner does it.
  TrajectoryView PopTrajectory() {
    TrajectoryBlock* block = ring_.PopReady();
    wire::Experience metadata;
    metadata.steps = static_cast<std::uint32_t>(block->steps);
    std::size_t bytes = 0;
    metadata.columns = ring_.FilledColumns(block, &bytes);
    TrajectoryView view;
    const Status viewed =
        wire::ViewTrajectory(metadata, {block->data, bytes}, ring_.layout(), &view);
    EXPECT_TRUE(viewed.ok()) << viewed;
    const Status checked = CheckTrajectory(view, ring_.layout());
    EXPECT_TRUE(checked.ok()) << checked;
    return view;
  }

  const MixedTrajectory lived_{4, 10};
  TrajectoryRing ring_{std::make_shared<BlockPool>(MixedLayout())};
  ClientModel model_{"default",
                     MixedSpec().spaces,
                     {},
                     std::make_shared<SenderWakeup>(),
                     std::make_shared<SettingsTable>()};
  AgentCounts counts_;
  TrajectoryRecorder recorder_{&model_, &counts_};
};

TEST_F(TrajectoryRecorderTest, WritesRowsWordsStateAndFrames) {
  Start();
  for (int step = 0; step < 4; ++step) Record(step);
  recorder_.HandOver(lived_.next_observation, 104);
  const TrajectoryView view = PopTrajectory();
  EXPECT_THAT(view.observation, ElementsAreArray(lived_.observation));
  EXPECT_THAT(view.action, ElementsAreArray(lived_.action));
  EXPECT_THAT(view.state0, ElementsAreArray(lived_.state0));
  EXPECT_THAT(view.frames0, ElementsAreArray(lived_.frames0));
  EXPECT_THAT(view.next_observation, ElementsAreArray(lived_.next_observation));
  EXPECT_TRUE(view.mask.empty()) << "none was given, none is sent";
}

TEST_F(TrajectoryRecorderTest, FromTheFirstMaskOnEveryStepHasOne) {
  Start();
  Record(0);
  const std::uint8_t mask[] = {0, 1, 0, 0, 1};  // step 1 chose 1 and 1
  Record(1, mask);
  Record(2);
  recorder_.HandOver(lived_.next_observation, 103);
  EXPECT_THAT(PopTrajectory().mask, ElementsAre(1, 1, 1, 1, 1, 0, 1, 0, 0, 1, 1, 1, 1, 1, 1));
}

TEST_F(TrajectoryRecorderTest, ABlockThatWasMaskedOnceIsNotMaskedForGood) {
  Start();
  const std::uint8_t mask[] = {1, 0, 0, 1, 0};
  Record(0, mask);
  recorder_.Drop();
  Start();
  Record(0);
  recorder_.HandOver(lived_.next_observation, 101);
  EXPECT_TRUE(PopTrajectory().mask.empty());
}

TEST_F(TrajectoryRecorderTest, TheGameMayTakeAnotherActionOfSeveralWords) {
  Start();
  Record(0);
  Record(1);
  const std::int32_t other[] = {2, 0, std::bit_cast<std::int32_t>(-0.5f)};
  recorder_.Replace(other, 0.125f);
  recorder_.HandOver(lived_.next_observation, 102);
  const TrajectoryView view = PopTrajectory();
  EXPECT_THAT(view.action.subspan(3), ElementsAreArray(other));
  EXPECT_EQ(view.log_prob[1], 0.125f);
}

/// Episodes of one step: more than the agent's own block holds.
class ShortEpisodes : public testing::Test {
 protected:
  ShortEpisodes()
      : ring_(std::make_shared<BlockPool>(TrajectoryLayout(spaces_, 64))),
        model_("default", spaces_, {}, std::make_shared<SenderWakeup>(),
               std::make_shared<SettingsTable>()) {
    recorder_.Attach(&ring_);
  }
  void Play() {
    model_.credit.Overdraw();
    ASSERT_TRUE(recorder_.Start({7, 1}, 0));
    for (int step = 0; step < 64; ++step) {
      const float row[] = {static_cast<float>(step), 0.5f};
      const std::int32_t action[] = {step % 2};
      recorder_.Record(RowsOf(row), action, -0.5f, true);
      recorder_.SetReward(step);
      recorder_.EndEpisode(kTerminated, {});
      recorder_.AddEpisode({.raw_return = static_cast<double>(step), .length = 1});
      recorder_.AddReport(0, 1.0);
    }
    recorder_.HandOver({}, 64);
  }
  const Spaces spaces_{Box({2}), Discrete(2)};
  TrajectoryRing ring_;
  ClientModel model_;
  AgentCounts counts_;
  TrajectoryRecorder recorder_{&model_, &counts_};
};

TEST_F(ShortEpisodes, AllOfThemLeaveWithTheirTrajectory) {
  Play();
  TrajectoryBlock* const block = ring_.PopReady();
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(block->steps, 64);
  ASSERT_EQ(block->episodes, 64);
  EXPECT_EQ(block->reports[0].sum, 64.0);
  EXPECT_EQ(block->reports[0].count, 64u);
  wire::Experience metadata;
  metadata.steps = 64;
  std::size_t bytes = 0;
  metadata.columns = ring_.FilledColumns(block, &bytes);
  TrajectoryView view;
  ASSERT_TRUE(wire::ViewTrajectory(metadata, {block->data, bytes}, ring_.layout(), &view).ok());
  EXPECT_TRUE(CheckTrajectory(view, ring_.layout()).ok());
  for (int step = 0; step < 64; ++step) {
    EXPECT_EQ(view.episodes[step].raw_return, step);
    EXPECT_EQ(NumbersOf(view.observation)[2 * step], step);
    EXPECT_EQ(view.reward[step], step);
    EXPECT_EQ(view.action[step], step % 2);
  }
}

TEST_F(ShortEpisodes, WithNoSpareBlockTheOldestGiveWay) {
  std::vector<TrajectoryBlock*> spare;
  while (TrajectoryBlock* block = ring_.AcquireSpare()) spare.push_back(block);
  ASSERT_EQ(spare.size(), 7u);
  Play();
  TrajectoryBlock* const block = ring_.PopReady();
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(block->steps, 64);
  ASSERT_EQ(block->episodes, 16);
  const auto* first = reinterpret_cast<const EpisodeRecord*>(block->data + block->episodes_offset);
  EXPECT_EQ(first[0].raw_return, 48.0);
  EXPECT_EQ(first[15].raw_return, 63.0);
}

TEST_F(ShortEpisodes, OfADroppedTrajectoryLeaveWithTheNext) {
  model_.credit.Overdraw();
  ASSERT_TRUE(recorder_.Start({7, 1}, 0));
  recorder_.AddEpisode({.raw_return = -1.0, .length = 3});
  recorder_.AddReport(0, 2.0);
  recorder_.Drop();
  EXPECT_TRUE(recorder_.has_news());
  model_.credit.Overdraw();
  ASSERT_TRUE(recorder_.Start({7, 1}, 0));
  EXPECT_EQ(recorder_.steps(), 0);
  recorder_.HandOverNews(5);
  EXPECT_TRUE(recorder_.open()) << "they wait for the trajectory";
  recorder_.Drop();
  recorder_.HandOverNews(5);
  TrajectoryBlock* const block = ring_.PopReady();
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(block->episodes, 1);
  EXPECT_EQ(block->reports[0].sum, 2.0);
}

TEST_F(TrajectoryRecorderTest, FinalObservationsAreWholeRows) {
  Start();
  Record(0);
  std::vector<std::byte> final;
  MixedTrajectory::AppendRow(77, 2, &final);
  recorder_.EndEpisode(kTruncated, final);
  recorder_.HandOver({}, 101);
  EXPECT_THAT(PopTrajectory().final_observation, ElementsAreArray(final));
}

}  // namespace
}  // namespace murmurate
