// What becomes of a learner whose trainer fails.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/learn/learn_loop.h"
#include "tests/learn/example_batches.h"
#include "tests/learn/failing_trainer.h"

namespace murmurate {
namespace {

std::unique_ptr<Learner> MakeFailing(int batches) {
  return std::make_unique<Learner>(
      ExampleSpec(), ExamplePpo(), 1, Initialization{},
      std::make_unique<FailingTrainer>(ExampleSpec(), ExamplePpo(), batches));
}

TEST(TrainerFailure, TheReportNamesItAndTheLearnerStaysWhereItWas) {
  const auto learner = MakeFailing(1);
  TrainingBatch first = FullBatch(4, 1, 1, 1), second = FullBatch(4, 1, 1, 2);
  EXPECT_TRUE(learner->Learn(first, 0).failure.ok());
  const std::vector<float> after = ParametersOf(*learner);
  const LearnReport report = learner->Learn(second, 32);
  EXPECT_EQ(report.failure.code(), StatusCode::kResource);
  EXPECT_EQ(report.failure.message(), "cuda:0: an illegal address was used");
  EXPECT_TRUE(report.left_out);
  EXPECT_EQ(report.updates, 0u);
  EXPECT_FALSE(second.learned);
  EXPECT_EQ(learner->version(), 2u);
  EXPECT_EQ(ParametersOf(*learner), after);
}

class FailedLoop : public testing::Test {
 protected:
  FailedLoop() : channel_(std::make_shared<ExperienceChannel>(ExampleSpec(), 8, 4)) {
    LearnCallbacks callbacks;
    callbacks.on_failure = [this](const Status& status) { failures_.push_back(status); };
    callbacks.on_snapshot = [this](std::shared_ptr<const Snapshot>) { ++snapshots_; };
    callbacks.on_report = [this](const LearnReport&) { ++reports_; };
    callbacks.on_batch = [this] { ++begun_; };
    callbacks.at_border = [this](const Learner&, std::uint64_t) { ++borders_; };
    loop_ = std::make_unique<LearnLoop>(channel_, MakeFailing(2), std::move(callbacks));
    (void)loop_->PollOnce(std::chrono::milliseconds(0));
  }

  bool LearnOne() {
    auto batch = *channel_->empty.TryPop();
    for (std::uint32_t agent = 0; agent < 4; ++agent)
      batch->Add(ExampleTrajectory(agent, 1, 8).view());
    EXPECT_TRUE(channel_->ready.TryPush(std::move(batch)));
    return loop_->PollOnce(std::chrono::milliseconds(0));
  }

  std::shared_ptr<ExperienceChannel> channel_;
  std::unique_ptr<LearnLoop> loop_;
  std::vector<Status> failures_;
  int begun_ = 0, snapshots_ = 0, reports_ = 0, borders_ = 0;
};

TEST_F(FailedLoop, SaysSoOnceAndLearnsNothingMore) {
  EXPECT_TRUE(LearnOne());
  EXPECT_TRUE(LearnOne());
  EXPECT_TRUE(failures_.empty());
  for (int batch = 0; batch < 5; ++batch) EXPECT_FALSE(LearnOne());
  ASSERT_EQ(failures_.size(), 1u);
  EXPECT_EQ(failures_[0].message(), "cuda:0: an illegal address was used");
  EXPECT_EQ(begun_, 3) << "with the one that failed";
  EXPECT_EQ(snapshots_, 3) << "the initial weights and two versions";
  EXPECT_EQ(reports_, 2);
  EXPECT_EQ(borders_, 2);
  EXPECT_EQ(channel_->learned_steps.load(), 64u) << "of the two batches before it";
  EXPECT_EQ(channel_->empty.size(), 3u) << "batches still go round";
}

/// Takes as long as the test says, and looks from inside, as another thread would.
class SlowTrainer : public FailingTrainer {
 public:
  SlowTrainer(std::function<void()> inside)
      : FailingTrainer(ExampleSpec(), ExamplePpo(), 100), inside_(std::move(inside)) {}
  BatchSums Finish() override {
    inside_();
    return FailingTrainer::Finish();
  }

 private:
  const std::function<void()> inside_;
};

TEST(LateBatch, IsSaidWithItsTimeTheUsualOneAndWhereItIs) {
  const auto channel = std::make_shared<ExperienceChannel>(ExampleSpec(), 8, 4);
  std::int64_t now_ns = 0;
  std::int64_t takes_ns = kNanosecondsPerSecond / 20;
  std::string said;
  LearnLoop* looked_at = nullptr;
  LearnLoop loop(channel,
                 std::make_unique<Learner>(ExampleSpec(), ExamplePpo(), 1, Initialization{},
                                           std::make_unique<SlowTrainer>([&] {
                                             now_ns += takes_ns;
                                             said = looked_at->LateBatch();
                                           })),
                 {}, [&now_ns] { return now_ns; });
  looked_at = &loop;
  const auto learn = [&] {
    auto batch = *channel->empty.TryPop();
    batch->Add(ExampleTrajectory(0, 1, 8).view());
    EXPECT_TRUE(channel->ready.TryPush(std::move(batch)));
    (void)loop.PollOnce(std::chrono::milliseconds(0));
  };
  learn();
  EXPECT_EQ(said, "");
  takes_ns = 32 * kNanosecondsPerSecond;
  learn();
  EXPECT_EQ(said, "a batch has taken 32 s so far, and they usually take 0.05 s (update 3 of 80)");
}

}  // namespace
}  // namespace murmurate
