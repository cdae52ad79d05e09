// A shard without sockets and with the test's clock, so that the order of everything is certain.
#include "server/parameters/shard.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tests/parameters/live_cluster.h"
#include "tests/parameters/plain_shard.h"

namespace murmurate {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kSecond = 1'000'000'000;

ShardSettings Settings(RuleName name, int workers) {
  ShardSettings settings;
  settings.rule = {.name = name, .form = PushForm::kGradient, .window = 1};
  settings.optimizer.name = OptimizerSettings::Name::kSgd;
  settings.workers = workers;
  settings.dead_after_ns = 3 * kSecond;
  return settings;
}

class ShardTest : public testing::Test {
 protected:
  explicit ShardTest(RuleName name = RuleName::kSync, int workers = 2)
      : settings_(Settings(name, workers)) {}

  Result<wire::Joined> Join(std::uint64_t id, std::uint32_t number, const ModelSpec& spec,
                            std::uint64_t step = 0) {
    wire::Join join;
    join.model = "m";
    join.spec = spec.ToText();
    join.rule = settings_.ToText();
    join.worker = number;
    join.step = step;
    return shard_.Join(id, join, now_);
  }
  Result<wire::Joined> Join(std::uint64_t id, std::uint32_t number) {
    return Join(id, number, SmallSpec());
  }
  /// Its parameters, all `value`; or a gradient of zeros.
  Status Begin(std::uint64_t id, float value) {
    AlignedFloats block(shard_.block_floats());
    std::fill(block.begin(), block.end(), value);
    return shard_.OnPush(id, {}, block, now_);
  }
  Status Pull(std::uint64_t id) { return shard_.OnPush(id, {}, {}, now_); }
  Status Push(std::uint64_t id, std::uint64_t step) {
    const AlignedFloats block(shard_.block_floats());
    const std::uint64_t pulled = shard_.version();
    return shard_.OnPush(id, {.step = step, .pulled = pulled, .learning_rate = 0.1}, block, now_);
  }
  /// Who has been answered since the last call.
  std::vector<std::uint64_t> Answered() {
    std::vector<std::uint64_t> ids;
    for (const Shard::Answer& answer : shard_.PopAnswers()) ids.push_back(answer.worker);
    return ids;
  }

  const ShardSettings settings_;
  std::int64_t now_ = 1;
  std::vector<std::string> log_;
  Shard shard_{settings_, 0, 1,
               [this](LogLevel, std::string_view text) { log_.emplace_back(text); }};
};

using Ids = std::vector<std::uint64_t>;

class ThreeWorkersTest : public ShardTest {
 protected:
  ThreeWorkersTest() : ShardTest(RuleName::kSync, 3) {}
};

TEST_F(ThreeWorkersTest, OneNumberThatComesTwiceIsNotTwoOfThoseThatTheFirstRoundWaitsFor) {
  ASSERT_TRUE(Join(10, 0).ok());
  ASSERT_TRUE(Begin(10, 1.0f).ok());
  ASSERT_TRUE(Join(11, 1).ok());
  shard_.OnBye(11, now_);
  ASSERT_TRUE(Join(12, 1).ok());
  ASSERT_TRUE(Push(10, 1).ok());
  ASSERT_TRUE(Push(12, 1).ok());
  EXPECT_EQ(shard_.version(), 0u);
  ASSERT_TRUE(Join(13, 2).ok());
  ASSERT_TRUE(Push(13, 1).ok());
  EXPECT_EQ(shard_.version(), 1u);
}

TEST_F(ShardTest, APushThatCameAfterItsRoundIsCountedAndNotMerged) {
  ASSERT_TRUE(Join(10, 0).ok());
  ASSERT_TRUE(Join(11, 1).ok());
  ASSERT_TRUE(Begin(10, 1.0f).ok());
  ASSERT_TRUE(Push(10, 1).ok());
  EXPECT_EQ(shard_.pushes(), 1u);
  EXPECT_EQ(shard_.merged(), 0u) << "its round is not complete";
  ASSERT_TRUE(Push(11, 1).ok());
  EXPECT_EQ(shard_.version(), 1u);
  EXPECT_EQ(shard_.merged(), 2u);
  const AlignedFloats block(shard_.block_floats());
  const wire::Push late{.step = 2, .pulled = 0, .learning_rate = 0.1};
  ASSERT_TRUE(shard_.OnPush(11, late, block, now_).ok());
  EXPECT_EQ(shard_.pushes(), 3u);
  EXPECT_EQ(shard_.merged(), 2u);
}

TEST_F(ShardTest, TheFirstRoundWaitsAMinuteForWhoNeverCameAndGoesOnWithAWarning) {
  ASSERT_TRUE(Join(10, 0).ok());
  ASSERT_TRUE(Begin(10, 1.0f).ok());
  ASSERT_TRUE(Push(10, 1).ok());
  now_ += 60 * kSecond - 1;
  shard_.OnAlive(10, false, now_);
  shard_.Tick(now_);
  EXPECT_EQ(shard_.version(), 0u);
  now_ += 1;
  shard_.Tick(now_);
  EXPECT_EQ(shard_.version(), 1u);
  EXPECT_EQ(
      log_.back(),
      "the first round goes on without 1 of 2 workers, which have not come for a minute; they "
      "still may");
  ASSERT_TRUE(Join(11, 1).ok());
  ASSERT_TRUE(Push(10, 2).ok());
  EXPECT_EQ(shard_.version(), 1u) << "who came late is a member as any other";
  ASSERT_TRUE(Push(11, 1).ok());
  EXPECT_EQ(shard_.version(), 2u);
}

TEST_F(ShardTest, TheFirstRoundGoesOnWithoutOneThatCameAndLeft) {
  ASSERT_TRUE(Join(10, 0).ok());
  ASSERT_TRUE(Begin(10, 1.0f).ok());
  ASSERT_TRUE(Join(11, 1).ok());
  ASSERT_TRUE(Push(10, 1).ok());
  EXPECT_EQ(shard_.version(), 0u);
  shard_.OnBye(11, now_);
  EXPECT_EQ(shard_.version(), 1u);
}

TEST_F(ShardTest, BeginsWithWorkerZerosParametersWhoeverComesFirst) {
  const auto first = Join(11, 1);
  ASSERT_TRUE(first.ok());
  EXPECT_FALSE(first->empty);
  ASSERT_TRUE(Pull(11).ok());
  EXPECT_EQ(Answered(), Ids{});
  EXPECT_EQ(shard_.Waits(), "worker 1 waits for the parameters of worker 0");
  const auto zero = Join(10, 0);
  ASSERT_TRUE(zero.ok());
  EXPECT_TRUE(zero->empty);
  ASSERT_TRUE(Begin(10, 0.5f).ok());
  EXPECT_THAT(Answered(), testing::UnorderedElementsAre(10u, 11u));
  EXPECT_EQ(shard_.center()[0], 0.5f);
  EXPECT_EQ(shard_.Waits(), "");
}

TEST_F(ShardTest, WorkerZeroIsWaitedForThreeSecondsAndThenTheFirstBegins) {
  ASSERT_TRUE(Join(11, 1).ok());
  ASSERT_TRUE(Pull(11).ok());
  now_ += 3 * kSecond - 1;
  EXPECT_FALSE(Join(11, 1)->empty);
  now_ += 1;
  EXPECT_TRUE(Join(11, 1)->empty);
  ASSERT_TRUE(Begin(11, 0.25f).ok());
  EXPECT_EQ(Answered(), Ids{11});
  EXPECT_EQ(shard_.center()[0], 0.25f);
  EXPECT_EQ(log_.back(),
            "the model begins with the parameters of worker 1, as worker 0 did not come in time");
}

// Each shard must choose the same one, or the parts of the model would not belong together.
TEST_F(ShardTest, WithoutWorkerZeroTheLiveWorkerOfTheLowestNumberBegins) {
  ASSERT_TRUE(Join(12, 2).ok());
  ASSERT_TRUE(Join(11, 1).ok());
  now_ += 3 * kSecond - 1;
  shard_.OnAlive(11, false, now_);
  now_ += 1;
  EXPECT_FALSE(Join(12, 2)->empty);
  EXPECT_TRUE(Join(11, 1)->empty);
  now_ += 3 * kSecond;
  EXPECT_TRUE(Join(12, 2)->empty) << "worker 1 is silent";
}

TEST_F(ShardTest, StartedWithNothingItTakesWhatATrainedWorkerHasAtOnce) {
  EXPECT_TRUE(Join(11, 1, SmallSpec(), 5)->empty);
}

TEST_F(ShardTest, AModelThatNobodyTrainedGivesWayOnceItsWorkersAreGone) {
  ASSERT_TRUE(Join(10, 0, SmallSpec(true)).ok());  // a typing error
  ASSERT_TRUE(Begin(10, 0.0f).ok());
  ASSERT_TRUE(Push(10, 1).ok());  // the round waits for worker 1
  const auto early = Join(11, 1);
  ASSERT_FALSE(early.ok());
  EXPECT_THAT(early.status().message(), HasSubstr("another model than this shard"));
  shard_.OnBye(10, now_);
  ASSERT_TRUE(Join(12, 0).ok()) << "worker 0 again, with the model that was meant";
  EXPECT_TRUE(shard_.empty());
  ASSERT_TRUE(Begin(12, 0.75f).ok());
  EXPECT_EQ(shard_.spec(), SmallSpec().ToText());
  EXPECT_EQ(shard_.center()[0], 0.75f);
  EXPECT_EQ(Push(10, 2).code(), StatusCode::kUnavailable);
}

TEST_F(ShardTest, ASilentWorkersUntrainedModelGivesWayToo) {
  ASSERT_TRUE(Join(10, 0, SmallSpec(true)).ok());
  now_ += settings_.dead_after_ns - 1;
  EXPECT_FALSE(Join(11, 1).ok());
  now_ += 1;
  EXPECT_TRUE(Join(11, 1).ok());
}

TEST_F(ShardTest, AnUntrainedModelGivesWayToAnotherBeginningOfTheSameSpecToo) {
  ASSERT_TRUE(Join(10, 0).ok());
  ASSERT_TRUE(Begin(10, 0.25f).ok());
  ASSERT_TRUE(Join(11, 1).ok());
  now_ += settings_.dead_after_ns;
  EXPECT_FALSE(Join(11, 1)->empty) << "who was silent for a while is no other";
  EXPECT_EQ(shard_.center()[0], 0.25f);
  now_ += settings_.dead_after_ns;
  EXPECT_TRUE(Join(12, 0)->empty);
  ASSERT_TRUE(Begin(12, 0.75f).ok());
  EXPECT_EQ(shard_.center()[0], 0.75f);
}

// Version 0 again, but what it was given is the work of many.
TEST_F(ShardTest, WhatATrainedWorkerBroughtAShardThatWasStartedWithNothingStays) {
  ASSERT_TRUE(Join(10, 0, SmallSpec(), 5)->empty);
  ASSERT_TRUE(Begin(10, 0.5f).ok());
  shard_.OnBye(10, now_);
  EXPECT_EQ(shard_.version(), 0u);
  EXPECT_FALSE(Join(11, 0, SmallSpec(true)).ok());
  EXPECT_FALSE(Join(12, 0)->empty);
  EXPECT_EQ(shard_.center()[0], 0.5f);
}

/// Else who is first back would have rounds of its own.
TEST_F(ShardTest, ARunThatAllHadLeftWaitsForAllAgain) {
  ASSERT_TRUE(Join(10, 0).ok());
  ASSERT_TRUE(Begin(10, 1.0f).ok());
  ASSERT_TRUE(Join(11, 1).ok());
  ASSERT_TRUE(Push(10, 1).ok());
  ASSERT_TRUE(Push(11, 1).ok());
  ASSERT_EQ(shard_.version(), 1u);
  SavedState left;
  shard_.OnBye(10, now_);
  shard_.OnBye(11, now_);
  shard_.Save(&left);
  Shard again(settings_, 0, 1, [](LogLevel, std::string_view) {});
  ASSERT_TRUE(again.Load(left, SmallSpec().ToText()).ok());
  const AlignedFloats zeros(again.block_floats());
  const auto comes = [&](std::uint64_t id, std::uint32_t number) {
    wire::Join join = JoinOf(SmallSpec(), settings_);
    join.worker = number;
    const wire::Push push{.step = 1, .pulled = 1, .learning_rate = 0.1};
    return again.Join(id, join, now_).ok() && again.OnPush(id, push, zeros, now_).ok();
  };
  EXPECT_TRUE(comes(12, 0));
  EXPECT_EQ(again.version(), 1u);
  EXPECT_TRUE(comes(13, 1));
  EXPECT_EQ(again.version(), 2u);
}

class AsynchronousShardTest : public ShardTest {
 protected:
  AsynchronousShardTest() : ShardTest(RuleName::kAsgd) {}
};

/// Both were told that the shard is empty: there is no worker 0 to wait for.
TEST_F(AsynchronousShardTest, WhoseParametersCameTooLateToBeginIsToldSo) {
  ASSERT_TRUE(Join(11, 1, SmallSpec(), 5)->empty);
  ASSERT_TRUE(Join(12, 2, SmallSpec(), 5)->empty);
  ASSERT_TRUE(Begin(11, 0.25f).ok());
  EXPECT_TRUE(shard_.PopAnswers().at(0).center.merged);
  ASSERT_TRUE(Begin(12, 0.75f).ok());
  EXPECT_FALSE(shard_.PopAnswers().at(0).center.merged);
  EXPECT_EQ(shard_.center()[0], 0.25f);
  ASSERT_TRUE(Pull(12).ok());
  EXPECT_TRUE(shard_.PopAnswers().at(0).center.merged);
}

TEST_F(AsynchronousShardTest, CountsEachPushOnceAndWhatItMerged) {
  ASSERT_TRUE(Join(10, 0).ok());
  ASSERT_TRUE(Begin(10, 0.0f).ok());
  EXPECT_EQ(shard_.pushes(), 0u) << "parameters to begin with are no push";
  ASSERT_TRUE(Push(10, 1).ok());
  ASSERT_TRUE(Push(10, 1).ok());  // its answer was lost
  ASSERT_TRUE(Push(10, 2).ok());
  EXPECT_EQ(shard_.pushes(), 2u);
  EXPECT_EQ(shard_.merged(), 2u);
  EXPECT_EQ(shard_.merges(), 2u);
  SavedState state;
  shard_.Save(&state);
  Shard again(settings_, 0, 1, [](LogLevel, std::string_view) {});
  ASSERT_TRUE(again.Load(state, SmallSpec().ToText()).ok());
  EXPECT_EQ(again.version(), 2u);
  EXPECT_EQ(again.pushes() + again.merged() + again.merges(), 0u) << "they are of this life";
}

TEST_F(AsynchronousShardTest, AModelThatSomebodyTrainedStays) {
  ASSERT_TRUE(Join(10, 0, SmallSpec(true)).ok());
  ASSERT_TRUE(Begin(10, 0.0f).ok());
  ASSERT_TRUE(Push(10, 1).ok());
  ASSERT_EQ(shard_.version(), 1u);
  shard_.OnBye(10, now_);
  EXPECT_FALSE(Join(11, 1).ok());
  EXPECT_TRUE(Join(12, 1, SmallSpec(true)).ok());
}

}  // namespace
}  // namespace murmurate
