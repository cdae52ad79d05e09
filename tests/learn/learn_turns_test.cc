#include "server/learn/learn_turns.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "shared/model/model_spec.h"
#include "tests/learn/example_batches.h"

namespace murmurate {
namespace {

constexpr std::chrono::milliseconds kNow{0}, kSoon{2000};

/// Batches whose `capacity` nobody looks at; what tells them apart is who filled them: agent i of
/// the i-th.
class LearnTurnsTest : public testing::Test {
 protected:
  void Fill(std::uint32_t number, bool held_out = false) {
    auto batch = *channel_.empty.TryPop();
    batch->Clear();
    batch->samples = held_out ? TrainingBatch::Samples::kHeldOut : TrainingBatch::Samples::kRead;
    batch->Add(ExampleTrajectory(number, 1, 8).view());
    ASSERT_TRUE(channel_.ready.TryPush(std::move(batch)));
  }
  static std::uint32_t NumberOf(const TrainingBatch& batch) { return batch.trajectories[0].agent; }
  void ReturnUnused(std::unique_ptr<TrainingBatch> batch) {
    (void)channel_.empty.TryPush(std::move(batch));
  }

  ExperienceChannel channel_{ExampleSpec(), 8, 4, 3};
  LearnTurns turns_;
};

TEST_F(LearnTurnsTest, BatchesAreTakenInTheirOrderByWhoeverComes) {
  EXPECT_EQ(channel_.batches, 5);
  EXPECT_EQ(turns_.Next(channel_, kNow), nullptr);
  Fill(1);
  Fill(2);
  EXPECT_EQ(NumberOf(*turns_.Next(channel_, kNow)), 1u);
  EXPECT_EQ(NumberOf(*turns_.Next(channel_, kNow)), 2u);
  EXPECT_EQ(turns_.Next(channel_, kNow), nullptr);
}

TEST_F(LearnTurnsTest, NoTurnBeginsWhileLearningIsPausedAndOneAtRestWaitsForThoseThatHave) {
  const auto paused = std::make_shared<std::atomic<bool>>(false);
  LearnTurns turns(paused);
  Fill(1);
  Fill(2);
  auto batch = turns.Next(channel_, kNow);
  ASSERT_NE(batch, nullptr);
  *paused = true;
  EXPECT_TRUE(turns.paused());
  EXPECT_EQ(turns.Next(channel_, kNow), nullptr);
  EXPECT_FALSE(turns.Begin());
  std::atomic<bool> at_rest{false};
  std::thread other([&] { turns.AtRest([&] { at_rest = true; }); });
  while (turns.wanting() == 0) std::this_thread::yield();
  EXPECT_FALSE(at_rest);
  turns.Done(false);
  other.join();
  EXPECT_TRUE(at_rest);
  *paused = false;
  EXPECT_EQ(NumberOf(*turns.Next(channel_, kNow)), 2u);
  turns.Done(false);
  ReturnUnused(std::move(batch));
}

TEST_F(LearnTurnsTest, ATurnWithoutABatchIsOneTheOthersWaitFor) {
  ASSERT_TRUE(turns_.Begin());
  std::atomic<bool> alone{false};
  Fill(1);
  auto batch = turns_.Next(channel_, kNow);
  std::thread other([&] { turns_.Alone(false, [&] { alone = true; }); });
  while (turns_.wanting() == 0) std::this_thread::yield();
  EXPECT_FALSE(alone);
  turns_.Done(false);
  other.join();
  EXPECT_TRUE(alone);
  turns_.Done(false);
  ReturnUnused(std::move(batch));
  turns_.End(channel_);
  EXPECT_FALSE(turns_.Begin());
}

TEST_F(LearnTurnsTest, OneThreadMayLookAtTheBatchThatItWillTakeNext) {
  ExperienceChannel one(ExampleSpec(), 8, 4);
  const TrainingBatch* seen = nullptr;
  const auto look = [&](const TrainingBatch& next) { seen = &next; };
  turns_.VisitNext(one, look);
  EXPECT_EQ(seen, nullptr);
  ASSERT_TRUE(one.ready.TryPush(*one.empty.TryPop()));
  turns_.VisitNext(one, look);
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(turns_.Next(one, kNow).get(), seen);
  // What is left in the channel at its end stays, and is not looked at any more.
  ASSERT_TRUE(one.ready.TryPush(*one.empty.TryPop()));
  turns_.VisitNext(one, look);
  turns_.End(one);
  EXPECT_EQ(seen->capacity, 4);
  seen = nullptr;
  turns_.VisitNext(one, look);
  EXPECT_EQ(seen, nullptr);
  // Several threads: another may take it first.
  Fill(1);
  LearnTurns().VisitNext(channel_, look);
  EXPECT_EQ(seen, nullptr);
}

TEST_F(LearnTurnsTest, WhoWantsToBeAloneWaitsForTheOthersAndNobodyTakesMore) {
  Fill(1);
  Fill(2);
  Fill(3);
  const auto first = turns_.Next(channel_, kNow), second = turns_.Next(channel_, kNow);
  std::atomic<bool> second_done = false, alone = false;
  std::thread border([&] {
    turns_.Alone(false, [&] {
      EXPECT_TRUE(second_done);
      EXPECT_EQ(channel_.ready.size(), 1u) << "the third was taken";
      alone = true;
    });
    turns_.Done(false);
  });
  while (turns_.wanting() == 0) std::this_thread::yield();
  std::atomic<bool> asked = false;
  std::thread next([&] {
    asked = true;
    const auto third = turns_.Next(channel_, kSoon);
    EXPECT_EQ(NumberOf(*third), 3u);
    turns_.Done(false);
  });
  while (!asked) std::this_thread::yield();
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  EXPECT_EQ(channel_.ready.size(), 1u) << "somebody wants to be alone, and the third was taken";
  second_done = true;
  turns_.Done(false);
  border.join();
  next.join();
  EXPECT_TRUE(alone);
}

TEST_F(LearnTurnsTest, AfterTheEndNothingIsTakenThoughSomebodyWaitedForIt) {
  Fill(1);
  const auto first = turns_.Next(channel_, kNow);
  std::thread waiting;
  turns_.Alone(false, [&] {
    Fill(2);
    std::atomic<bool> asked = false;
    waiting = std::thread([&] {
      asked = true;
      EXPECT_EQ(turns_.Next(channel_, kSoon), nullptr);
    });
    while (!asked) std::this_thread::yield();
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
    turns_.End(channel_);
    EXPECT_EQ(channel_.ready.size(), 0u);
    Fill(3);
  });
  turns_.Done(false);
  waiting.join();
  EXPECT_EQ(turns_.Next(channel_, kNow), nullptr);
  EXPECT_EQ(channel_.ready.size(), 1u);
}

TEST_F(LearnTurnsTest, TwoThatWantToBeAloneComeOneAfterTheOther) {
  Fill(1);
  Fill(2);
  const auto first = turns_.Next(channel_, kNow), second = turns_.Next(channel_, kNow);
  std::atomic<int> inside = 0, visits = 0;
  const auto visit = [&] {
    EXPECT_EQ(++inside, 1);
    ++visits;
    --inside;
  };
  const auto rest = [&] {
    turns_.Alone(false, visit);
    turns_.Done(false);
  };
  std::thread one(rest), other(rest);
  one.join();
  other.join();
  EXPECT_EQ(visits, 2);
}

/// Four threads; what is in training is in `inside`, what has been in `done`.
TEST_F(LearnTurnsTest, AHeldOutBatchIsScoredAfterAllBeforeItAndBeforeAllAfterIt) {
  constexpr std::uint32_t kBatches = 400;
  std::atomic<std::uint32_t> inside = 0, done = 0;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (done < kBatches) {
        auto batch = turns_.Next(channel_, std::chrono::milliseconds(1));
        if (!batch) continue;
        const bool held_out = batch->samples == TrainingBatch::Samples::kHeldOut;
        const std::uint32_t number = NumberOf(*batch);
        wrong += held_out && (inside != 0 || done != number);
        ++inside;
        std::this_thread::yield();
        wrong += held_out && inside != 1;
        --inside;
        ++done;
        if (number % 16 == 1) turns_.Alone(held_out, [&] { wrong += inside != 0; });
        ReturnUnused(std::move(batch));
        turns_.Done(held_out);
      }
    });
  }
  for (std::uint32_t number = 0; number < kBatches; ++number) {
    while (channel_.empty.size() == 0) std::this_thread::yield();
    Fill(number, number % 5 == 4);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(done, kBatches);
}

}  // namespace
}  // namespace murmurate
