// Learners that step one block of parameters, by turns on one thread and at once on several.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "server/learn/learn_loop.h"
#include "server/learn/reward_scale.h"
#include "server/parameters/hogwild_store.h"
#include "tests/learn/example_batches.h"

namespace murmurate {
namespace {

AlgorithmSettings Plain(bool normalize_reward = false) {
  AlgorithmSettings settings = ExamplePpo();
  settings.optimizer = OptimizerSettings::Name::kSgd;
  settings.normalize_reward = normalize_reward;
  settings.learning_rate = 0.05;
  return settings;
}

std::unique_ptr<Learner> Hogwild(int threads, bool locking = false, bool normalize_reward = false) {
  const AlgorithmSettings settings = Plain(normalize_reward);
  return std::make_unique<Learner>(
      ExampleSpec(true), settings, 5, Initialization{},
      std::make_unique<HogwildStore>(HogwildSettings{threads, locking}, ExampleSpec(true),
                                     settings.max_grad_norm));
}

SavedState StateOf(const Learner& learner) {
  SavedState state;
  learner.Save(&state);
  return state;
}

TEST(HogwildLearner, OneThreadHasTheBitsOfALocalStoreWithSgd) {
  for (const bool locking : {false, true}) {
    Learner local(ExampleSpec(true), Plain(true), 5);
    const auto alone = Hogwild(1, locking, true);
    for (std::uint64_t version = 1; version <= 6; ++version) {
      TrainingBatch one = FullBatch(version, version, version, version);
      TrainingBatch other = FullBatch(version, version, version, version);
      const LearnReport expected = local.Learn(one, 0), report = alone->Learn(other, 0);
      ASSERT_GT(report.updates, 0u);
      EXPECT_EQ(report.version, expected.version);
      EXPECT_EQ(report.grad_norm, expected.grad_norm);
    }
    EXPECT_EQ(ParametersOf(*alone), ParametersOf(local)) << locking;
    EXPECT_EQ(StateOf(*alone), StateOf(local)) << locking;
  }
}

TEST(HogwildLearner, OneBesideAnotherGoesOnFromWhatThatHasLearned) {
  const auto first = Hogwild(2), second = first->SharedReplica(9);
  EXPECT_EQ(ParametersOf(*second), ParametersOf(*first));
  const auto beginning = ParametersOf(*first);
  TrainingBatch batch = FullBatch(1, 1, 1, 1);
  EXPECT_EQ(first->Learn(batch, 0).version, 2u);
  EXPECT_EQ(ParametersOf(*second), beginning);
  AlgorithmSettings still = Plain();
  Rates none = Rates::Of(still);
  none.learning_rate = 1e-30;  // the steps vanish: what is left is what it began with
  second->SetRates(none);
  TrainingBatch after = FullBatch(2, 2, 2, 2);
  const LearnReport report = second->Learn(after, 0);
  EXPECT_EQ(report.version, 3u);
  EXPECT_EQ(report.stale_trajectories, 0u) << "version 2 is the other's";
  EXPECT_EQ(report.staleness_max, 0.0);
  const std::size_t trained = first->layout().trained_count();
  const auto one = ParametersOf(*first), other = ParametersOf(*second);
  for (std::size_t i = 0; i < trained; ++i) ASSERT_EQ(other[i], one[i]) << i;
  EXPECT_NE(one, beginning);
  const std::size_t count = first->layout().Find("statistics.observation.count").offset;
  EXPECT_EQ(other[count], 2 * one[count]) << "it has seen as many as the other";
}

TEST(HogwildLearner, WhatOneKnowsOfRewardsBothKnow) {
  const auto first = Hogwild(2, false, true), second = first->SharedReplica(9);
  TrainingBatch batch = FullBatch(1, 1, 1, 1);
  first->Learn(batch, 0);
  EXPECT_EQ(second->reward_statistics().count, 32.0);
  TrainingBatch after = FullBatch(1, 1, 1, 1);
  second->Learn(after, 0);
  EXPECT_EQ(first->reward_statistics().count, 64.0);
}

TEST(HogwildLearner, OneThatIsLoadedAndTheOnesBesideItGoOnFromThere) {
  const auto first = Hogwild(2), second = first->SharedReplica(9);
  TrainingBatch batch = FullBatch(1, 1, 1, 1), after = FullBatch(2, 2, 2, 2);
  first->Learn(batch, 0);
  second->Learn(after, 0);
  const auto newest = second->MakeSnapshot();
  const auto again = Hogwild(2);
  ASSERT_TRUE(again->Load(newest->version, 64, newest->parameters, StateOf(*first)).ok());
  const auto beside = again->SharedReplica(11);
  EXPECT_EQ(beside->version(), 3u);
  EXPECT_EQ(ParametersOf(*beside), ParametersOf(*second));
  TrainingBatch next = FullBatch(3, 3, 3, 3);
  EXPECT_EQ(beside->Learn(next, 0).version, 4u);
  EXPECT_EQ(StateOf(*again).words.at("optimizer.steps").front(),
            StateOf(*first).words.at("optimizer.steps").front() + 12);  // 3 epochs of 4 minibatches
}

/// Loops on threads of their own, as the daemon runs them.
class HogwildLoops : public testing::TestWithParam<bool> {
 protected:
  static constexpr int kThreads = 3;
  static constexpr std::uint64_t kBatches = 200;

  void Start() {
    auto first = Hogwild(kThreads, GetParam());
    for (int i = 1; i < kThreads; ++i)
      learners_.push_back(first->SharedReplica(static_cast<std::uint64_t>(i) + 50));
    learners_.insert(learners_.begin(), std::move(first));
    for (auto& learner : learners_)
      loops_.push_back(std::make_unique<LearnLoop>(channel_, std::move(learner), Callbacks(),
                                                   MonotonicNs, turns_));
    loops_[0]->PollOnce(std::chrono::milliseconds(0));
    for (auto& loop : loops_)
      threads_.emplace_back([&] {
        while (turns_->batches() < kBatches) loop->PollOnce(std::chrono::milliseconds(5));
      });
  }

  LearnCallbacks Callbacks() {
    LearnCallbacks callbacks;
    callbacks.on_snapshot = [this](std::shared_ptr<const Snapshot> snapshot) {
      const std::lock_guard lock(mutex_);
      versions_.push_back(snapshot->version);
      if (!newest_ || snapshot->version > newest_->version) newest_ = std::move(snapshot);
    };
    callbacks.on_report = [this](const LearnReport&) { ++reports_; };
    callbacks.border_due = [this] { return reports_ % 7 == 0; };
    callbacks.at_border = [this](const Learner& learner, std::uint64_t batches) {
      wrong_ += reports_ != batches;  // one under way would have reported, or not be counted
      SavedState state;
      learner.Save(&state);
      const std::lock_guard lock(mutex_);
      wrong_ += newest_->version != batches + 1;  // what is newest has seen all that was trained on
      ++borders_;
    };
    return callbacks;
  }

  std::shared_ptr<ExperienceChannel> channel_ =
      std::make_shared<ExperienceChannel>(ExampleSpec(true), 8, 4, kThreads);
  std::shared_ptr<LearnTurns> turns_ = std::make_shared<LearnTurns>();
  std::vector<std::unique_ptr<Learner>> learners_;
  std::vector<std::unique_ptr<LearnLoop>> loops_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::vector<std::uint64_t> versions_;
  std::shared_ptr<const Snapshot> newest_;
  std::atomic<std::uint64_t> reports_{0}, borders_{0}, wrong_{0};
};

TEST_P(HogwildLoops, EveryBatchIsTrainedOnOnceAndBordersFindTheModelAtRest) {
  Start();
  for (std::uint64_t i = 0; i < kBatches; ++i) {
    std::optional<std::unique_ptr<TrainingBatch>> batch;
    while (!batch) batch = channel_->empty.Pop(std::chrono::milliseconds(5));
    const std::uint64_t version = channel_->version.load();
    for (std::uint32_t agent = 0; agent < 4; ++agent)
      (*batch)->Add(ExampleTrajectory(agent, version, 8).view());
    ASSERT_TRUE(channel_->ready.TryPush(std::move(*batch)));
  }
  for (std::thread& thread : threads_) thread.join();
  EXPECT_EQ(channel_->credit.load(), 4 * kBatches);
  EXPECT_EQ(channel_->version.load(), kBatches + 1);
  EXPECT_EQ(wrong_, 0u);
  EXPECT_GT(borders_, 0u);
  std::sort(versions_.begin(), versions_.end());
  for (std::uint64_t i = 0; i <= kBatches; ++i) ASSERT_EQ(versions_[i], i + 1);
  for (const float x : newest_->parameters) ASSERT_TRUE(std::isfinite(x));
}

INSTANTIATE_TEST_SUITE_P(Locking, HogwildLoops, testing::Bool());

}  // namespace
}  // namespace murmurate
