// What the recorder writes for a model that has everything, as the learner will read it.
#include "client/trajectory_recorder.h"

#include <gmock/gmock.h>

#include "shared/wire/messages.h"
#include "tests/experience/mixed_trajectory.h"

namespace murmurate {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

class TrajectoryRecorderTest : public testing::Test {
 protected:
  TrajectoryRecorderTest() { recorder_.Attach(&ring_, episodes_); }

  void Start() {
    ++model_.started;
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
    recorder_.Settle(lived_.reward[i]);
  }
  /// The block handed over, cut and checked as the learner does it.
  TrajectoryView Take() {
    TrajectoryBlock* block = ring_.TakeReady();
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
  TrajectoryRing ring_{MixedLayout()};
  ClientModel model_{"default",
                     MixedSpec().spaces,
                     {},
                     std::make_shared<SenderBell>(),
                     std::make_shared<SettingsTable>()};
  AgentCounts counts_;
  std::vector<EpisodeRecord> episodes_{8};
  TrajectoryRecorder recorder_{&model_, &counts_};
};

TEST_F(TrajectoryRecorderTest, WritesRowsWordsStateAndFrames) {
  Start();
  for (int step = 0; step < 4; ++step) Record(step);
  recorder_.HandOver(lived_.next_observation, 104);
  const TrajectoryView view = Take();
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
  EXPECT_THAT(Take().mask, ElementsAre(1, 1, 1, 1, 1, 0, 1, 0, 0, 1, 1, 1, 1, 1, 1));
}

TEST_F(TrajectoryRecorderTest, ABlockThatWasMaskedOnceIsNotMaskedForGood) {
  Start();
  const std::uint8_t mask[] = {1, 0, 0, 1, 0};
  Record(0, mask);
  recorder_.Drop();
  Start();
  Record(0);
  recorder_.HandOver(lived_.next_observation, 101);
  EXPECT_TRUE(Take().mask.empty());
}

TEST_F(TrajectoryRecorderTest, TheGameMayTakeAnotherActionOfSeveralWords) {
  Start();
  Record(0);
  Record(1);
  const std::int32_t other[] = {2, 0, std::bit_cast<std::int32_t>(-0.5f)};
  recorder_.Replace(other, 0.125f);
  recorder_.HandOver(lived_.next_observation, 102);
  const TrajectoryView view = Take();
  EXPECT_THAT(view.action.subspan(3), ElementsAreArray(other));
  EXPECT_EQ(view.log_prob[1], 0.125f);
}

TEST_F(TrajectoryRecorderTest, FinalObservationsAreWholeRows) {
  Start();
  Record(0);
  std::vector<std::byte> final;
  MixedTrajectory::AppendRow(77, 2, &final);
  recorder_.EndEpisode(kTruncated, final);
  recorder_.HandOver({}, 101);
  EXPECT_THAT(Take().final_observation, ElementsAreArray(final));
}

}  // namespace
}  // namespace murmurate
