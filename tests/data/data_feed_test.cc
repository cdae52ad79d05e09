#include "server/data/data_feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <set>

#include "server/data/split_source.h"
#include "shared/core/clock.h"
#include "shared/core/loop.h"
#include "tests/data/feed_stage.h"

namespace murmurate {
namespace {

using testing::HasSubstr;
using Samples = TrainingBatch::Samples;

using DataFeedTest = FeedStage;

TEST_F(DataFeedTest, APassIsEverySampleOnceInAnOrderOfItsOwn) {
  Open(20);
  Start({.seed = 3, .passes = 2});
  const std::vector<Got> all = TrainAll();
  ASSERT_EQ(all.size(), 6u);  // 8 + 8 + 4, twice
  std::vector<std::vector<int>> passes(2);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].samples, Samples::kRead);
    auto& pass = passes[i / 3];
    pass.insert(pass.end(), all[i].numbers.begin(), all[i].numbers.end());
  }
  EXPECT_NE(passes[0], passes[1]);
  for (auto& pass : passes) {
    std::vector<int> every(20);
    std::iota(every.begin(), every.end(), 0);
    EXPECT_NE(pass, every);
    std::sort(pass.begin(), pass.end());
    EXPECT_EQ(pass, every);
  }
  ASSERT_EQ(ends_.size(), 1u);
  EXPECT_TRUE(ends_[0].ok());
}

TEST_F(DataFeedTest, TheSameSeedGivesTheSameBatchesAndAnotherOthers) {
  Open(20);
  Start({.seed = 3, .passes = 2, .holdout = 0.2});
  const std::vector<Got> once = TrainAll();
  Start({.seed = 3, .passes = 2, .holdout = 0.2});
  EXPECT_EQ(TrainAll(), once);
  Start({.seed = 4, .passes = 2, .holdout = 0.2});
  EXPECT_NE(TrainAll(), once);
}

TEST_F(DataFeedTest, HeldOutSamplesAreNeverLearnedFromAndComeAfterEachPass) {
  Open(30);
  Start({.seed = 5, .passes = 3, .holdout = 0.4});
  EXPECT_EQ(feed_->held_out_items(), 12u);
  std::set<int> learned;
  std::vector<std::set<int>> held_out;
  std::uint64_t steps = 0;
  for (const Got& got : TrainAll()) {
    EXPECT_EQ(got.environment_steps, steps);  // what was learned from before it, and no more
    if (got.samples == Samples::kRead) {
      learned.insert(got.numbers.begin(), got.numbers.end());
      steps += got.numbers.size();
      continue;
    }
    EXPECT_EQ(got.samples, Samples::kHeldOut);
    if (steps / 18 > held_out.size()) held_out.emplace_back();
    held_out.back().insert(got.numbers.begin(), got.numbers.end());
  }
  EXPECT_EQ(learned.size(), 18u);
  ASSERT_EQ(held_out.size(), 3u);
  EXPECT_EQ(held_out[0].size(), 12u);
  EXPECT_EQ(held_out[1], held_out[0]);
  EXPECT_EQ(held_out[2], held_out[0]);
  for (const int number : held_out[0]) EXPECT_FALSE(learned.contains(number));
  EXPECT_EQ(channel_->environment_steps.load(), 54u);
}

// Of 43 a fifth, 9, is held out; of the 34 others part 0 and 1 have 9, part 2 and 3 have 8.
TEST_F(DataFeedTest, PartsLearnTogetherFromAllThatNoneOfThemHoldsOutWhateverTheirSeeds) {
  Open(43);
  std::multiset<int> learned;
  std::set<int> held_out;
  for (std::uint64_t part = 0; part < 4; ++part) {
    Start({.seed = 100 + part, .holdout = 0.2, .part = {part, 4, true}});
    EXPECT_EQ(feed_->learned_items(), part < 2 ? 9u : 8u);
    std::set<int> scored;
    for (const Got& got : TrainAll()) {
      const bool scores = got.samples == TrainingBatch::Samples::kHeldOut;
      for (const int number : got.numbers)
        scores ? (void)scored.insert(number) : (void)learned.insert(number);
    }
    EXPECT_EQ(scored.size(), 9u);
    if (part == 0) held_out = scored;
    EXPECT_EQ(scored, held_out);
  }
  std::multiset<int> all(learned);
  all.insert(held_out.begin(), held_out.end());
  std::multiset<int> expected;
  for (int i = 0; i < 43; ++i) expected.insert(i);
  EXPECT_EQ(all, expected);
}

TEST_F(DataFeedTest, WhatIsOnlyScoredComesAfterEachPassFromFilesOfItsOwn) {
  Open(10);  // 0 to 9
  auto scored = std::move(source_);
  Open(20);
  auto split = SplitSource::Join(std::make_unique<ArraySource>(std::move(*source_)),
                                 std::make_unique<ArraySource>(std::move(*scored)));
  ASSERT_TRUE(split.ok()) << split.status();
  Start(*std::move(split), {.seed = 5, .passes = 2});
  EXPECT_EQ(feed_->learned_items(), 20u);
  EXPECT_EQ(feed_->held_out_items(), 10u);
  const std::vector<Got> all = TrainAll();
  ASSERT_EQ(all.size(), 10u);  // 8 + 8 + 4 and 8 + 2, twice
  for (const int first : {0, 5}) {
    std::set<int> learned;
    for (int i = first; i < first + 3; ++i) {
      EXPECT_EQ(all[i].samples, Samples::kRead);
      learned.insert(all[i].numbers.begin(), all[i].numbers.end());
    }
    EXPECT_EQ(learned.size(), 20u);
    EXPECT_EQ(all[first + 3].samples, Samples::kHeldOut);
    EXPECT_EQ(all[first + 3].numbers, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(all[first + 4].numbers, (std::vector<int>{8, 9}));
  }
  EXPECT_EQ(channel_->environment_steps.load(), 40u);
}

// However many threads fill, batches come in the order of their turns.
TEST_F(DataFeedTest, ThreadsGiveTheBatchesOfOne) {
  Open(2000);
  Start({.seed = 7, .passes = 2, .holdout = 0.1});
  const std::vector<Got> alone = TrainAll();
  Start({.seed = 7, .passes = 2, .holdout = 0.1});
  std::vector<std::unique_ptr<Loop>> loops;
  for (int i = 0; i < 3; ++i)
    loops.push_back(std::make_unique<Loop>(
        "mmr-data." + std::to_string(i + 1),
        [this] { feed_->PollOnce(std::chrono::milliseconds(20)); }, [this] { feed_->Stop(); }));
  std::vector<Got> together;
  const std::int64_t deadline = MonotonicNs() + 30 * kNanosecondsPerSecond;
  while (ends_.empty() && MonotonicNs() < deadline)
    if (auto got = Train(std::chrono::milliseconds(100))) together.push_back(std::move(*got));
  EXPECT_EQ(together, alone);
  EXPECT_EQ(ends_.size(), 1u);
}

TEST_F(DataFeedTest, ASampleThatCannotBeReadEndsItWithItsName) {
  Open(20, 13);
  Start({.seed = 3, .passes = 1});
  for (int i = 0; i < 5; ++i) {
    feed_->PollOnce(kSoon);
    while (Train()) continue;
  }
  ASSERT_EQ(ends_.size(), 1u);
  EXPECT_EQ(ends_[0].code(), StatusCode::kInvalidData);
  EXPECT_THAT(ends_[0].message(), HasSubstr("sample 13"));
}

TEST_F(DataFeedTest, StopReleasesAThreadThatWaitsForItsTurn) {
  Open(20);
  Start({.seed = 3, .passes = 1});
  Loop loop(
      "mmr-data", [this] { feed_->PollOnce(std::chrono::seconds(30)); },
      [this] {
        feed_->Stop();
        channel_->empty.Close();
      });
  while (channel_->ready.size() < 3) std::this_thread::yield();
}  // the thread waits for an empty batch, and the test ends at once

}  // namespace
}  // namespace murmurate
