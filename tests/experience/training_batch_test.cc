#include "server/experience/training_batch.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "shared/model/policy_and_value.h"
#include "tests/experience/sample_trajectory.h"

namespace murmurate {
namespace {

using ::testing::ElementsAre;

TEST(TrainingBatch, PadsAShortTrajectoryWithRowsOfWeightZero) {
  TrainingBatch batch(SampleLayout(), 2);
  batch.Add(SampleTrajectory(2, 1).View());
  EXPECT_FALSE(batch.full());
  batch.Add(SampleTrajectory(4, 5).View());
  EXPECT_TRUE(batch.full());
  EXPECT_EQ(batch.rows(), 8);
  EXPECT_THAT(std::vector<float>(batch.weight.begin(), batch.weight.end()),
              ElementsAre(1, 1, 0, 0, 1, 1, 1, 1));
  EXPECT_EQ(batch.observation[0], 1);
  EXPECT_EQ(batch.observation[2 * 4], 5);
  EXPECT_EQ(batch.next_observation[0], 3);
  EXPECT_EQ(batch.next_observation[2], 9);
}

TEST(TrainingBatch, BytesForIsWhatItTakes) {
  const PolicyAndValue plain{.spaces = {Box({5}), Discrete(3)}, .trunk = {}};
  PolicyAndValue stacked = plain;
  stacked.encoders = {InputEncoder{.input = "", .stack = 4, .layers = {}}};
  for (const PolicyAndValue& spec : {plain, stacked}) {
    const TrajectoryLayout layout(spec, 24);
    const TrainingBatch batch(layout, 3);
    EXPECT_EQ(TrainingBatch::BytesFor(layout, 3),
              batch.block().size() + batch.trajectories.capacity() * sizeof(BatchTrajectory) +
                  batch.episodes.capacity() * sizeof(EpisodeRecord));
  }
}

/// What a device gives; it counts what is out.
class CountingMemory : public BatchMemory {
 public:
  std::byte* Allocate(std::size_t bytes) override {
    out += bytes;
    return PlainBatchMemory().Allocate(bytes);
  }
  void Free(std::byte* block, std::size_t bytes) override {
    out -= bytes;
    PlainBatchMemory().Free(block, bytes);
  }
  std::size_t out = 0;
};

TEST(TrainingBatch, ItsColumnsLieOneAfterTheOtherOnBordersOfOneBlockOfItsMemory) {
  PolicyAndValue spec{.spaces = {Box({5}), Discrete(3)}, .trunk = {}};
  spec.encoders = {InputEncoder{.input = "", .stack = 4, .layers = {}}};
  CountingMemory memory;
  {
    const TrainingBatch batch(TrajectoryLayout(spec, 24), 3, memory);
    EXPECT_EQ(memory.out, batch.block().size());
    std::size_t end = 0;
    const auto expect = [&](auto column, std::size_t count) {
      EXPECT_EQ(column.size(), count);
      const auto bytes = std::as_bytes(column);
      const auto first = static_cast<std::size_t>(bytes.data() - batch.block().data());
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes.data()) % BatchMemory::kBorder, 0u);
      EXPECT_GE(first, end);
      EXPECT_LT(first - end, BatchMemory::kBorder);
      end = first + bytes.size();
    };
    const std::size_t rows = 3 * 24;
    expect(batch.observation, rows * 5);
    expect(batch.action, rows);
    expect(batch.log_prob, rows);
    expect(batch.reward, rows);
    expect(batch.flags, rows);
    expect(batch.weight, rows);
    expect(batch.mask, rows * 3);
    expect(batch.state0, 0);
    expect(batch.frames0, 3 * 3 * 5);
    expect(batch.next_observation, 3 * 5);
    expect(batch.final_observation, 3 * 5 * static_cast<std::size_t>(batch.layout.max_finals));
    EXPECT_TRUE(batch.final_row.empty());
    EXPECT_LE(end + 3 * 4 * static_cast<std::size_t>(batch.layout.max_finals),
              batch.block().size());
  }
  EXPECT_EQ(memory.out, 0u);
}

TEST(TrainingBatch, LargeBlocksOfPlainMemoryBeginWhereAHugePageMay) {
  std::byte* const block = PlainBatchMemory().Allocate(BatchMemory::kHugePage + 256);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % BatchMemory::kHugePage, 0u);
  PlainBatchMemory().Free(block, BatchMemory::kHugePage + 256);
}

TEST(TrainingBatch, KeepsTheRowOfEachFinalObservation) {
  TrainingBatch batch(SampleLayout(), 2);
  batch.Add(SampleTrajectory(4, 1).View());
  SampleTrajectory cut(4, 5);
  cut.flags = {0, 0, kTruncatedFlag, kFirst};
  cut.final_observation = {70, 71};
  batch.Add(cut.View());
  EXPECT_THAT(batch.final_row, ElementsAre(6));
  EXPECT_EQ(batch.final_observation[1], 71);
}

TEST(TrainingBatch, SortsByAgentAndFirstStepWithAllColumns) {
  CountingMemory memory;
  TrainingBatch batch(SampleLayout(), 3, memory);
  SampleTrajectory second(3, 20), third(4, 30), first(4, 10);
  second.agent = third.agent = 1;
  third.first_step = 3;
  third.flags = {0, kTruncatedFlag, kFirst, 0};
  third.final_observation = {7, 8};
  for (const SampleTrajectory* t : {&third, &second, &first}) batch.Add(t->View());
  batch.Sort();
  EXPECT_EQ(memory.out, batch.block().size());
  EXPECT_EQ(batch.observation[0], 10);
  EXPECT_EQ(batch.observation[4 * 2], 20);
  EXPECT_EQ(batch.observation[8 * 2], 30);
  EXPECT_EQ(batch.reward[4], 200);
  EXPECT_EQ(batch.weight[7], 0);
  EXPECT_EQ(batch.weight[8], 1);
  EXPECT_THAT(batch.final_row, ElementsAre(9));
  EXPECT_EQ(batch.final_observation[0], 7);
  EXPECT_EQ(batch.trajectories[1].steps, 3);
}

TEST(TrainingBatch, EpisodesMoveWithTheirTrajectoriesAndLooseOnesStayLast) {
  TrainingBatch batch(SampleLayout(), 2);
  SampleTrajectory late(4, 20), early(4, 10);
  late.agent = 1;
  late.episodes = {{21.0, 1, 0}, {20.0, 2, 0}};
  early.episodes = {{30.0, 3, 0}};
  batch.Add(late.View());
  const EpisodeRecord loose{5.0, 4, 0};
  batch.AddEpisodes({&loose, 1});
  batch.Add(early.View());
  batch.Sort();
  std::vector<double> returns;
  for (const EpisodeRecord& episode : batch.episodes) returns.push_back(episode.raw_return);
  EXPECT_THAT(returns, ElementsAre(30.0, 21.0, 20.0, 5.0));
  EXPECT_EQ(batch.View(1).episodes.size(), 2u);
}

TEST(TrainingBatch, ClearForgetsTrajectoriesEpisodesAndWeights) {
  TrainingBatch batch(SampleLayout(), 1);
  SampleTrajectory sample(4, 1);
  sample.episodes.push_back({12.0, 4, 0});
  batch.Add(sample.View());
  ASSERT_EQ(batch.episodes.size(), 1u);
  batch.Clear();
  EXPECT_TRUE(batch.trajectories.empty());
  EXPECT_TRUE(batch.episodes.empty());
  EXPECT_EQ(batch.weight[0], 0);
}

TEST(TrainingBatch, ALargeColumnArrivesWholeOnAndOffItsBorders) {
  // 4 x 127 rows of 1400 floats: 2.8 MB. With odd widths the second place starts off its border.
  for (const int width : {1400, 1401, 1402, 1403}) {
    const Spaces spaces{Box({width}), Discrete(2)};
    const TrajectoryLayout layout(spaces, 127);
    TrainingBatch batch(layout, 4);
    std::vector<float> observation(static_cast<std::size_t>(width) * 127);
    for (std::size_t i = 0; i < observation.size(); ++i) observation[i] = static_cast<float>(i);
    const std::vector<std::int32_t> action(127);
    const std::vector<float> zeros(127), next(static_cast<std::size_t>(width));
    const std::vector<std::uint8_t> flags(127);
    TrajectoryView view;
    view.steps = 127;
    view.observation = RowsOf(observation);
    view.action = action;
    view.log_prob = view.reward = zeros;
    view.flags = flags;
    view.next_observation = RowsOf(next);
    for (int place = 0; place < 3; ++place) batch.Add(view);
    for (std::size_t place = 0; place < 3; ++place) {
      const float* column = batch.observation.data() + place * observation.size();
      EXPECT_TRUE(std::equal(observation.begin(), observation.end(), column)) << width;
    }
    EXPECT_EQ(batch.observation[3 * observation.size()], 0.0f) << "not a number further";
  }
}

}  // namespace
}  // namespace murmurate
