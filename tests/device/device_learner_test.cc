// A learner in its loop on a device: batches travel ahead while others are trained on, and what
// comes of them is what the processor makes of them.
#include <gtest/gtest.h>

#include "server/device/device_trainer.h"
#include "server/learn/host_trainer.h"
#include "server/learn/learn_loop.h"
#include "tests/device/test_device.h"
#include "tests/learn/example_batches.h"

namespace murmurate {
namespace {

constexpr std::chrono::milliseconds kNow{0};

std::unique_ptr<LearnLoop> LoopOf(std::shared_ptr<ExperienceChannel> channel,
                                  std::unique_ptr<BatchTrainer> trainer) {
  return std::make_unique<LearnLoop>(
      std::move(channel),
      std::make_unique<Learner>(ExampleSpec(true), ExamplePpo(), 1, Initialization{},
                                std::move(trainer)),
      LearnCallbacks{});
}

/// Counts what travels ahead.
class Counting : public BatchTrainer {
 public:
  Counting(std::unique_ptr<BatchTrainer> trainer, int* ahead)
      : trainer_(std::move(trainer)), ahead_(ahead) {}
  std::optional<std::uint64_t> Open(std::uint64_t version, bool scores) override {
    return trainer_->Open(version, scores);
  }
  void Prefetch(const TrainingBatch& next) override {
    ++*ahead_;
    trainer_->Prefetch(next);
  }
  void Fit(const AlgorithmSettings& settings) override { trainer_->Fit(settings); }
  void Begin(const TrainingBatch& batch, const BatchPlan& plan) override {
    trainer_->Begin(batch, plan);
  }
  BatchSums Finish() override { return trainer_->Finish(); }
  std::span<const float> parameters() const override { return trainer_->parameters(); }
  void SetParameters(std::span<const float> parameters) override {
    trainer_->SetParameters(parameters);
  }
  void Save(SavedState* state) const override { trainer_->Save(state); }
  Status Load(const SavedState& state) override { return trainer_->Load(state); }

 private:
  const std::unique_ptr<BatchTrainer> trainer_;
  int* const ahead_;
};

class DeviceLearner : public testing::TestWithParam<std::uint64_t> {
 protected:
  std::unique_ptr<BatchTrainer> OnDevice() const {
    auto made =
        DeviceTrainer::Make(ExampleSpec(true), ExamplePpo(), MakeTestDevice({.seed = GetParam()}));
    EXPECT_TRUE(made.ok()) << made.status();
    return *std::move(made);
  }

  /// Fills the next empty batch.
  static void Fill(ExperienceChannel& channel, std::uint32_t number) {
    auto batch = *channel.empty.TryPop();
    batch->Clear();
    for (std::uint32_t agent = 0; agent < 4; ++agent)
      batch->Add(ExampleTrajectory(4 * number + agent, 1, 8).view());
    ASSERT_TRUE(channel.ready.TryPush(std::move(batch)));
  }

  /// The parameters after eight batches, of which two lie ready at a time.
  static std::vector<float> Learn(std::unique_ptr<BatchTrainer> trainer) {
    const auto channel = std::make_shared<ExperienceChannel>(ExampleSpec(true), 8, 4);
    const auto loop = LoopOf(channel, std::move(trainer));
    Fill(*channel, 0);
    for (std::uint32_t number = 1; number <= 8; ++number) {
      Fill(*channel, number);
      EXPECT_TRUE(loop->PollOnce(kNow));
    }
    return ParametersOf(loop->learner());
  }
};

TEST_P(DeviceLearner, LearnsWhatTheProcessorLearnsWhileBatchesTravelAhead) {
  int ahead = 0;
  const std::vector<float> got = Learn(std::make_unique<Counting>(OnDevice(), &ahead));
  const std::vector<float> expected =
      Learn(std::make_unique<HostTrainer>(ExampleSpec(true), ExamplePpo()));
  EXPECT_EQ(ahead, 8);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-3) << i;
}

TEST_P(DeviceLearner, EndsWhileABatchTravels) {
  const auto channel = std::make_shared<ExperienceChannel>(ExampleSpec(true), 8, 4);
  auto turns = std::make_shared<LearnTurns>();
  LearnLoop loop(
      channel,
      std::make_unique<Learner>(ExampleSpec(true), ExamplePpo(), 1, Initialization{}, OnDevice()),
      {}, MonotonicNs, turns);
  Fill(*channel, 0);
  Fill(*channel, 1);
  EXPECT_TRUE(loop.PollOnce(kNow));
  turns->End(*channel);
  EXPECT_FALSE(loop.PollOnce(kNow));
}

INSTANTIATE_TEST_SUITE_P(Orders, DeviceLearner, testing::Range<std::uint64_t>(0, 16));

}  // namespace
}  // namespace murmurate
