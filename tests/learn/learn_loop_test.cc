#include "server/learn/learn_loop.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/learn/example_batches.h"

namespace murmurate {
namespace {

class LearnLoopTest : public testing::Test {
 protected:
  LearnLoopTest() : channel_(std::make_shared<ExperienceChannel>(ExampleSpec(), 8, 4)) {}

  LearnLoop MakeLoop(std::unique_ptr<ExperienceStore> store = nullptr) {
    LearnCallbacks callbacks;
    callbacks.on_snapshot = [this](std::shared_ptr<const Snapshot> snapshot) {
      events_.push_back("snapshot " + std::to_string(snapshot->version));
    };
    callbacks.wake_ingest = [this] {
      events_.push_back("wake " + std::to_string(channel_->version.load()) + " " +
                        std::to_string(channel_->credit.load()) + " " +
                        std::to_string(channel_->empty.size()));
    };
    callbacks.on_learned = [this](const LearnReport&, StepCount steps) { steps_ = steps; };
    callbacks.on_report = [this](const LearnReport& report) {
      events_.push_back("report " + std::to_string(report.version));
      report_ = report;
    };
    return LearnLoop(channel_, std::make_unique<Learner>(ExampleSpec(), ExamplePpo(), 1),
                     std::move(callbacks), MonotonicNs, nullptr, std::move(store));
  }

  void Fill(std::uint64_t version) {
    auto batch = *channel_->empty.TryPop();
    for (std::uint32_t agent = 0; agent < 4; ++agent) {
      batch->Add(ExampleTrajectory(agent, version, 8).view());
    }
    batch->episodes.emplace_back();
    ASSERT_TRUE(channel_->ready.TryPush(std::move(batch)));
  }

  std::shared_ptr<ExperienceChannel> channel_;
  std::vector<std::string> events_;
  LearnReport report_;
  StepCount steps_;
};

TEST_F(LearnLoopTest, TheInitialWeightsGoOutBeforeAnyExperienceComes) {
  LearnLoop loop = MakeLoop();
  EXPECT_EQ(channel_->version.load(), 0u);
  EXPECT_FALSE(loop.PollOnce(std::chrono::milliseconds(0)));
  EXPECT_FALSE(loop.PollOnce(std::chrono::milliseconds(0)));
  EXPECT_EQ(events_, (std::vector<std::string>{"snapshot 1", "wake 1 0 3"}));
}

TEST_F(LearnLoopTest, HandsOverInOrderSnapshotBatchCountWakeReport) {
  LearnLoop loop = MakeLoop();
  (void)loop.PollOnce(std::chrono::milliseconds(0));
  events_.clear();
  Fill(1);
  EXPECT_TRUE(loop.PollOnce(std::chrono::milliseconds(0)));
  EXPECT_EQ(events_, (std::vector<std::string>{"snapshot 2", "report 2", "wake 2 4 3"}));
  EXPECT_FALSE(loop.PollOnce(std::chrono::milliseconds(0)));
  EXPECT_EQ(loop.learner().version(), 2u);
}

TEST_F(LearnLoopTest, BatchesComeBackEmptyAndGoRound) {
  LearnLoop loop = MakeLoop();
  for (std::uint64_t version = 1; version <= 5; ++version) {
    Fill(version);
    EXPECT_TRUE(loop.PollOnce(std::chrono::milliseconds(0)));
    EXPECT_EQ(report_.trained_steps, 32u);
  }
  EXPECT_EQ(channel_->credit.load(), 20u);
  ASSERT_EQ(channel_->empty.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    const auto batch = *channel_->empty.TryPop();
    EXPECT_TRUE(batch->trajectories.empty());
    EXPECT_TRUE(batch->episodes.empty());
  }
}

/// A store that has two batches left when it is loaded.
class StoreWithTwoLeft : public OnPolicyStore {
 public:
  explicit StoreWithTwoLeft(const TrajectoryLayout& layout) : batch_(layout, 4) {
    for (std::uint32_t agent = 0; agent < 4; ++agent)
      batch_.Add(ExampleTrajectory(agent, 1, 8).view());
    batch_.learned = true;
  }
  TrainingBatch* Next() override { return left_ > 0 ? &batch_ : OnPolicyStore::Next(); }
  void Learned(const LearnedBatch& result) override {
    if (left_ > 0)
      --left_;
    else
      OnPolicyStore::Learned(result);
  }
  Status Load(const StateReader&) override {
    left_ = 2;
    return {};
  }

 private:
  TrainingBatch batch_;
  int left_ = 0;
};

/// After the initial weights are out, and before a batch that has come is inserted.
TEST_F(LearnLoopTest, WhatALoadedStoreStillHasIsLearnedFromFirst) {
  LearnLoop loop = MakeLoop(std::make_unique<StoreWithTwoLeft>(channel_->layout));
  ASSERT_TRUE(loop.LoadStore(0, {}).ok());
  Fill(1);
  EXPECT_TRUE(loop.PollOnce(std::chrono::milliseconds(0)) ||
              loop.PollOnce(std::chrono::milliseconds(0)));
  EXPECT_EQ(events_, (std::vector<std::string>{"snapshot 1", "wake 1 0 2", "snapshot 2", "report 2",
                                               "snapshot 3", "report 3", "wake 3 0 2"}));
  events_.clear();
  EXPECT_TRUE(loop.PollOnce(std::chrono::milliseconds(0)));
  EXPECT_EQ(events_, (std::vector<std::string>{"snapshot 4", "report 4", "wake 4 4 3"}));
}

/// With a rate of next to nothing a batch leaves the parameters where it found them.
TEST_F(LearnLoopTest, ItGoesBackBeforeTheBatchAfterItWasAskedTo) {
  LearnLoop loop = MakeLoop();
  Fill(loop.learner().version());
  EXPECT_TRUE(loop.PollOnce(std::chrono::milliseconds(0)));
  const auto earlier = loop.learner().MakeSnapshot();
  Fill(loop.learner().version());
  EXPECT_TRUE(loop.PollOnce(std::chrono::milliseconds(0)));
  const auto parameters_of = [](const Snapshot& snapshot) {
    return std::vector<float>(snapshot.parameters.begin(), snapshot.parameters.end());
  };
  const std::vector<float> later = ParametersOf(loop.learner());
  ASSERT_NE(later, parameters_of(*earlier));
  loop.PostReturn(earlier);
  EXPECT_EQ(ParametersOf(loop.learner()), later) << "not in the middle of anything";
  Rates rates = loop.learner().rates();
  rates.learning_rate = Schedule(1e-30);
  loop.PostRates(rates);
  Fill(loop.learner().version());
  EXPECT_TRUE(loop.PollOnce(std::chrono::milliseconds(0)));
  EXPECT_EQ(ParametersOf(loop.learner()), parameters_of(*earlier));
  EXPECT_EQ(loop.learner().version(), 4u);
}

TEST_F(LearnLoopTest, SchedulesFollowTheRowsThatWeighedAndNotTheStepsThatActorsClaim) {
  LearnLoop loop = MakeLoop();
  Rates rates = loop.learner().rates();
  rates.learning_rate.from = 1e-2;
  rates.learning_rate.to = 0;
  rates.learning_rate.steps = 320;
  loop.PostRates(rates);
  channel_->environment_steps = std::uint64_t{1} << 62;  // as one PING may say
  for (int batch = 0; batch < 4; ++batch) {
    Fill(loop.learner().version());
    EXPECT_TRUE(loop.PollOnce(std::chrono::milliseconds(0)));
    EXPECT_DOUBLE_EQ(report_.learning_rate, 1e-2 * (10 - batch) / 10) << "32 of 320 rows a batch";
    EXPECT_EQ(channel_->steps().learned, 32u * (static_cast<unsigned>(batch) + 1));
    EXPECT_EQ(steps_.learned, channel_->steps().learned);
    EXPECT_EQ(steps_.taken, std::uint64_t{1} << 62);
  }
}

TEST_F(LearnLoopTest, WhatIsTooOldOrNeverLearnedCountsForNothing) {
  LearnLoop loop = MakeLoop();
  for (int i = 0; i < 3; ++i) {  // versions 2 to 4
    Fill(loop.learner().version());
    (void)loop.PollOnce(std::chrono::milliseconds(0));
  }
  EXPECT_EQ(channel_->learned_steps, 96u);
  Fill(1);  // three versions old, where two are the most
  EXPECT_TRUE(loop.PollOnce(std::chrono::milliseconds(0)));
  EXPECT_EQ(report_.late_steps, 32u);
  EXPECT_EQ(channel_->learned_steps, 96u);
}

TEST_F(LearnLoopTest, AModelThatGoesOnCountsOnFromItsCheckpointsNumber) {
  channel_->learned_steps = 5000;
  LearnLoop loop = MakeLoop();
  Fill(1);
  EXPECT_TRUE(loop.PollOnce(std::chrono::milliseconds(0)));
  EXPECT_EQ(channel_->steps().learned, 5032u);
}

TEST_F(LearnLoopTest, WhereAFeedCountsItsRowsItsCountIsTheClock) {
  channel_->fed = true;
  channel_->environment_steps = 700;
  LearnLoop loop = MakeLoop();
  Fill(1);
  EXPECT_TRUE(loop.PollOnce(std::chrono::milliseconds(0)));
  EXPECT_EQ(steps_.learned, 700u);
  EXPECT_EQ(channel_->steps().learned, 700u) << "the feed counts, after the batch";
}

TEST_F(LearnLoopTest, NewRatesHoldFromTheNextBatchOn) {
  LearnLoop loop = MakeLoop();
  Rates rates = loop.learner().rates();
  rates.learning_rate = 5e-4;
  rates.clip = 0.05;
  loop.PostRates(rates);
  EXPECT_NE(loop.learner().rates().clip.At(0), 0.05);
  Fill(1);
  EXPECT_TRUE(loop.PollOnce(std::chrono::milliseconds(0)));
  EXPECT_DOUBLE_EQ(report_.learning_rate, 5e-4);
  EXPECT_FLOAT_EQ(static_cast<float>(report_.clip_range), 0.05f);
}

TEST(Rates, SavedOnesComeBackAndOthersAreRefused) {
  Rates rates{Schedule(1e-3), Schedule(0.2), {}};
  rates.entropy.from = 0.01;
  rates.entropy.steps = 500;
  rates.entropy.shape = Schedule::Shape::kCosine;
  rates.entropy.over_the_budget = true;
  SavedState state;
  rates.Save(StateWriter(&state, "rates"));
  Rates read;
  ASSERT_TRUE(read.Load(StateReader(state, "rates")).ok());
  EXPECT_EQ(read.learning_rate.At(0), 1e-3);
  EXPECT_EQ(read.entropy.At(250), rates.entropy.At(250));
  EXPECT_TRUE(read.entropy == rates.entropy);
  state.doubles["rates.clip"][3] = 9;  // no such shape
  EXPECT_FALSE(read.Load(StateReader(state, "rates")).ok());
}

/// Learns from each assembled batch twice, and gives credit back on insertion.
class TwiceStore : public ExperienceStore {
 public:
  explicit TwiceStore(std::vector<std::string>* events) : events_(events) {}
  void Insert(std::unique_ptr<TrainingBatch> batch) override {
    counts_.credit += batch->trajectories.size();
    left_ = 2;
    held_ = std::move(batch);
  }
  TrainingBatch* Next() override { return left_ > 0 ? held_.get() : nullptr; }
  void Learned(const LearnedBatch& result) override {
    events_->push_back("learned " + std::to_string(result.learned) + " " +
                       std::to_string(result.row_answers.size()));
    if (left_ == 2) {
      ++counts_.batches;
      counts_.steps += result.steps;
    }
    --left_;
  }
  std::unique_ptr<TrainingBatch> Release() override {
    if (held_) held_->Clear();
    return std::move(held_);
  }
  StoreCounts counts() const override { return counts_; }
  void Save(const StateWriter& writer) const override {
    writer.Words("credit", {&counts_.credit, 1});
  }
  Status Load(const StateReader& reader) override {
    return reader.Words("credit", {&counts_.credit, 1});
  }

 private:
  std::vector<std::string>* const events_;
  std::unique_ptr<TrainingBatch> held_;
  int left_ = 0;
  StoreCounts counts_;
};

TEST_F(LearnLoopTest, AStoreSaysWhatIsLearnedFromAndWhatMayBePlayed) {
  std::vector<std::string> told;
  std::vector<std::uint64_t> at_border;
  std::vector<std::size_t> episodes;
  std::vector<std::uint64_t> learned_steps;
  LearnCallbacks callbacks;
  callbacks.on_report = [&](const LearnReport& report) {
    episodes.push_back(report.episodes.size());
    learned_steps.push_back(channel_->learned_steps.load());
  };
  callbacks.at_border = [&](const Learner&, std::uint64_t batches) {
    at_border.push_back(batches);
  };
  LearnLoop loop(channel_, std::make_unique<Learner>(ExampleSpec(), ExamplePpo(), 1), callbacks,
                 MonotonicNs, nullptr, std::make_unique<TwiceStore>(&told));
  (void)loop.PollOnce(std::chrono::milliseconds(0));
  Fill(1);
  EXPECT_TRUE(loop.PollOnce(std::chrono::milliseconds(0)));
  EXPECT_EQ(told, (std::vector<std::string>{"learned 1 0", "learned 1 0"}));
  EXPECT_EQ(channel_->version.load(), 3u) << "a version a batch that was learned from";
  EXPECT_EQ(channel_->credit.load(), 4u) << "of one that was assembled";
  EXPECT_EQ(at_border, (std::vector<std::uint64_t>{1, 1})) << "of the channel, not of learning";
  EXPECT_EQ(channel_->empty.size(), 3u);
  Fill(1);
  EXPECT_TRUE(loop.PollOnce(std::chrono::milliseconds(0)));
  EXPECT_EQ(at_border, (std::vector<std::uint64_t>{1, 1, 2, 2}));
  EXPECT_GT(episodes[0], 0u);
  EXPECT_EQ(episodes[1], 0u) << "told once";
  EXPECT_GT(learned_steps[0], 0u);
  EXPECT_EQ(learned_steps[1], learned_steps[0]) << "steps of play, each once";

  SavedState state;
  loop.SaveStore(1, &state);
  LearnLoop again(channel_, std::make_unique<Learner>(ExampleSpec(), ExamplePpo(), 1), {},
                  MonotonicNs, nullptr, std::make_unique<TwiceStore>(&told));
  EXPECT_TRUE(again.LoadStore(1, state).ok());
  EXPECT_FALSE(again.LoadStore(0, state).ok()) << "each thread's store has its own section";
}

/// Keeps what it is given and gives nothing to learn from before two are there.
class LateStore : public OnPolicyStore {
 public:
  void Insert(std::unique_ptr<TrainingBatch> batch) override { kept_.push_back(std::move(batch)); }
  TrainingBatch* Next() override {
    return kept_.size() >= 2 && !learned_ ? kept_.front().get() : nullptr;
  }
  void Learned(const LearnedBatch&) override { learned_ = true; }
  std::unique_ptr<TrainingBatch> Release() override { return nullptr; }
  StoreCounts counts() const override { return {.batches = kept_.size()}; }
  std::string Waiting() const override {
    return "has " + std::to_string(kept_.size()) + " of 2 batches";
  }

 private:
  std::vector<std::unique_ptr<TrainingBatch>> kept_;
  bool learned_ = false;
};

TEST_F(LearnLoopTest, WhatAStoreKeepsIsCountedBeforeItIsLearnedFrom) {
  const auto turns = std::make_shared<LearnTurns>();
  LearnLoop loop(channel_, std::make_unique<Learner>(ExampleSpec(), ExamplePpo(), 1), {},
                 MonotonicNs, turns, std::make_unique<LateStore>());
  (void)loop.PollOnce(std::chrono::milliseconds(0));
  Fill(1);
  EXPECT_FALSE(loop.PollOnce(std::chrono::milliseconds(0))) << "nothing to learn from yet";
  EXPECT_EQ(turns->batches(), 1u);
  EXPECT_EQ(channel_->version.load(), 1u);
  Fill(1);
  EXPECT_TRUE(loop.PollOnce(std::chrono::milliseconds(0)));
  EXPECT_EQ(turns->batches(), 2u);
  EXPECT_EQ(channel_->version.load(), 2u);
}

TEST_F(LearnLoopTest, AWaitIsSaidUntilTheNextBatchAndCalledOnceAMinute) {
  std::int64_t now_ns = kNanosecondsPerSecond;
  std::vector<std::string> told;
  LearnCallbacks callbacks;
  callbacks.on_waiting = [&](const std::string& sentence) { told.push_back(sentence); };
  LearnLoop loop(
      channel_, std::make_unique<Learner>(ExampleSpec(), ExamplePpo(), 1), callbacks,
      [&] { return now_ns; }, nullptr, std::make_unique<LateStore>());
  EXPECT_EQ(loop.Waiting(), "");
  (void)loop.PollOnce(std::chrono::milliseconds(0));
  EXPECT_EQ(loop.Waiting(), "has 0 of 2 batches");
  EXPECT_TRUE(told.empty()) << "that nothing has come yet is no news";
  Fill(1);
  (void)loop.PollOnce(std::chrono::milliseconds(0));
  EXPECT_EQ(loop.Waiting(), "");
  for (int i = 0; i < 3; ++i) (void)loop.PollOnce(std::chrono::milliseconds(0));
  EXPECT_EQ(loop.Waiting(), "has 1 of 2 batches");
  EXPECT_EQ(told, (std::vector<std::string>{"has 1 of 2 batches"}));
  Fill(1);
  for (int i = 0; i < 2; ++i) (void)loop.PollOnce(std::chrono::milliseconds(0));
  EXPECT_EQ(loop.Waiting(), "has 2 of 2 batches");
  EXPECT_EQ(told.size(), 1u) << "a minute has not passed";
  now_ns += 60 * kNanosecondsPerSecond;
  Fill(1);
  (void)loop.PollOnce(std::chrono::milliseconds(0));
  (void)loop.PollOnce(std::chrono::milliseconds(0));
  EXPECT_EQ(told.back(), "has 3 of 2 batches");
  EXPECT_EQ(told.size(), 2u);
}

TEST_F(LearnLoopTest, ALearnerOfFreshBatchesAloneSaysNothingOfAWait) {
  LearnLoop loop = MakeLoop();
  (void)loop.PollOnce(std::chrono::milliseconds(0));
  EXPECT_EQ(loop.Waiting(), "");
}

TEST(OnPolicyStoreTest, LearnsFromABatchOnceAndThenGivesItAndItsCreditBack) {
  OnPolicyStore store;
  EXPECT_EQ(store.Next(), nullptr);
  EXPECT_EQ(store.Release(), nullptr);
  const auto insert = [&] {
    auto batch = std::make_unique<TrainingBatch>(FullBatch(4, 1, 1, 1));
    store.Insert(std::move(batch));
  };
  insert();
  ASSERT_NE(store.Next(), nullptr);
  EXPECT_EQ(store.Release(), nullptr) << "it has not been learned from";
  EXPECT_EQ(store.counts().credit, 0u);
  store.Learned({.steps = 32});
  EXPECT_EQ(store.Next(), nullptr);
  EXPECT_EQ(store.counts().credit, 4u);
  EXPECT_EQ(store.counts().steps, 32u);
  const auto released = store.Release();
  ASSERT_NE(released, nullptr);
  EXPECT_TRUE(released->trajectories.empty());
  insert();
  store.Learned({.learned = false});
  EXPECT_EQ(store.counts().credit, 4u) << "what is left out was never inserted";
}

}  // namespace
}  // namespace murmurate
