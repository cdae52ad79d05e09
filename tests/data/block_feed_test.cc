// A feed over a source whose items are read in blocks: made up, and remembering what was asked of
// it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "shared/core/clock.h"
#include "shared/core/loop.h"
#include "tests/data/feed_stage.h"

namespace murmurate {
namespace {

using testing::HasSubstr;
using Numbers = std::vector<std::uint64_t>;

/// The items of an ArraySource, in blocks. It remembers when items were asked for, and which were
/// filled that had not been.
class BlockSource : public DataSource {
 public:
  BlockSource(std::shared_ptr<ArraySource> source, const ReadBlocks& blocks)
      : source_(std::move(source)), blocks_(blocks), asked_(source_->items()) {}

  const Spaces& spaces() const override { return source_->spaces(); }
  std::uint64_t items() const override { return source_->items(); }
  std::uint64_t steps() const override { return source_->steps(); }
  Status PrepareFor(const ModelSpec& model, int length) override {
    return source_->PrepareFor(model, length);
  }
  std::uint64_t ItemsOf(const TrainingBatch& batch) const override {
    return source_->ItemsOf(batch);
  }
  ReadBlocks blocks() const override { return blocks_; }
  void BeginToRead(std::uint64_t first, std::uint64_t count) const override {
    const std::lock_guard lock(mutex_);
    ++calls_;
    largest_ = std::max(largest_, count);
    for (std::uint64_t i = first; i < first + count; ++i) ++asked_.at(i);
  }
  Status Fill(std::span<const std::uint64_t> items, TrainingBatch* batch) const override {
    {
      const std::lock_guard lock(mutex_);
      for (const std::uint64_t item : items) unasked_ += asked_.at(item) == 0;
    }
    return source_->Fill(items, batch);
  }
  std::vector<DataFile> files() const override { return source_->files(); }
  std::string Description() const override { return source_->Description(); }

  std::vector<int> asked() const { return asked_; }  ///< of each item: how often
  std::uint64_t calls() const { return calls_; }
  std::uint64_t largest() const { return largest_; }
  int unasked() const { return unasked_; }

 private:
  const std::shared_ptr<ArraySource> source_;
  const ReadBlocks blocks_;
  mutable std::mutex mutex_;
  mutable std::vector<int> asked_;
  mutable std::uint64_t calls_ = 0, largest_ = 0;
  mutable int unasked_ = 0;
};

class BlockFeedTest : public FeedStage {
 protected:
  void StartBlocks(const ReadBlocks& blocks, const DataFeedSettings& settings) {
    blocks_source_ = std::make_shared<BlockSource>(source_, blocks);
    Start(blocks_source_, settings);
  }
  static std::vector<int> NumbersOf(const std::vector<Got>& all, TrainingBatch::Samples samples) {
    std::vector<int> numbers;
    for (const Got& got : all)
      if (got.samples == samples)
        numbers.insert(numbers.end(), got.numbers.begin(), got.numbers.end());
    return numbers;
  }
  static std::vector<int> Learned(const std::vector<Got>& all) {
    return NumbersOf(all, TrainingBatch::Samples::kRead);
  }
  static std::vector<int> HeldOut(const std::vector<Got>& all) {
    return NumbersOf(all, TrainingBatch::Samples::kHeldOut);
  }
  /// By so many threads.
  std::vector<Got> TrainBy(int threads) {
    std::vector<std::unique_ptr<Loop>> loops;
    for (int i = 0; i < threads; ++i)
      loops.push_back(std::make_unique<Loop>(
          "mmr-data." + std::to_string(i + 1),
          [this] { feed_->PollOnce(std::chrono::milliseconds(20)); }, [this] { feed_->Stop(); }));
    std::vector<Got> all;
    const std::int64_t deadline = MonotonicNs() + 20 * kNanosecondsPerSecond;
    while (ends_.empty() && MonotonicNs() < deadline)
      if (auto got = Train(std::chrono::milliseconds(100))) all.push_back(std::move(*got));
    return all;
  }
  SavedState Saved() const {
    SavedState state;
    feed_->Save(StateWriter(&state, "data"));
    return state;
  }

  std::shared_ptr<BlockSource> blocks_source_;
};

constexpr ReadBlocks kBlocks{.items = 10, .group = 4};

// Sizes about a block, a group and several of them; blocks larger than all, of one, and mixed
// whole.
TEST_F(BlockFeedTest, EachItemComesOnceAPassAndThoseHeldOutNever) {
  for (const int count : {2, 9, 10, 11, 39, 40, 41, 403}) {
    Open(count);
    for (const ReadBlocks& blocks : {kBlocks, ReadBlocks{1, 8}, ReadBlocks{1000, 8},
                                     ReadBlocks{10, 0}, ReadBlocks{7, std::uint64_t{1} << 60}})
      for (const double holdout : {0.0, 0.25}) {
        StartBlocks(blocks, {.seed = 3, .passes = 2, .holdout = holdout});
        const std::vector<Got> all = TrainAll();
        std::map<int, int> learned, held_out;
        for (const int number : Learned(all)) ++learned[number];
        for (const int number : HeldOut(all)) ++held_out[number];
        EXPECT_EQ(learned.size() + held_out.size(), static_cast<std::size_t>(count));
        EXPECT_EQ(held_out.empty(), holdout == 0.0);
        for (const auto& [number, times] : learned) {
          EXPECT_EQ(times, 2) << number;
          EXPECT_FALSE(held_out.contains(number)) << number;
        }
        for (const auto& [number, times] : held_out) EXPECT_EQ(times, 2) << number;
      }
  }
}

TEST_F(BlockFeedTest, WholeBlocksAreHeldOutByTheSeedInTheOrderOfTheFile) {
  Open(403);
  std::set<std::vector<int>> drawn;
  for (const std::uint64_t seed : {1, 2, 3}) {
    StartBlocks(kBlocks, {.seed = seed, .passes = 1, .holdout = 0.1});
    const std::vector<int> held_out = HeldOut(TrainAll());
    ASSERT_EQ(held_out.size(), 40u);
    for (std::size_t i = 0; i < held_out.size(); ++i)
      EXPECT_EQ(held_out[i], held_out[i / 10 * 10] + static_cast<int>(i % 10));
    for (std::size_t i = 0; i < held_out.size(); i += 10) EXPECT_EQ(held_out[i] % 10, 0);
    drawn.insert(held_out);
  }
  EXPECT_EQ(drawn.size(), 3u);
}

// 363 are left, so parts of 120 or 180 or so, in blocks of 10; and some too small for blocks.
TEST_F(BlockFeedTest, PartsAreDisjointAndTogetherAllThatIsNotHeldOut) {
  for (const int count : {12, 403})
    for (const std::uint64_t of : {2, 3, 7}) {
      Open(count);
      std::set<int> learned;
      std::set<std::vector<int>> held_out;
      for (std::uint64_t index = 0; index < of; ++index) {
        StartBlocks(kBlocks, {.seed = index + 1,
                              .passes = 1,
                              .holdout = 0.1,
                              .part = {.index = index, .of = of, .of_several = true}});
        const std::vector<Got> all = TrainAll();
        const std::vector<int> mine = Learned(all);
        EXPECT_FALSE(mine.empty());
        for (const int number : mine) EXPECT_TRUE(learned.insert(number).second) << number;
        held_out.insert(HeldOut(all));
      }
      ASSERT_EQ(held_out.size(), 1u);
      for (const int number : *held_out.begin())
        EXPECT_TRUE(learned.insert(number).second) << number;
      EXPECT_EQ(learned.size(), static_cast<std::size_t>(count)) << of;
    }
}

TEST_F(BlockFeedTest, AnyNumberOfThreadsGivesTheSameBatchesAndAsksForTheSame) {
  Open(403);
  const DataFeedSettings settings{.seed = 9, .passes = 3, .holdout = 0.1};
  StartBlocks(kBlocks, settings);
  const std::vector<Got> one = TrainAll();
  const std::vector<int> asked = blocks_source_->asked();
  StartBlocks(kBlocks, settings);
  const std::vector<Got> four = TrainBy(4);
  EXPECT_EQ(Learned(four), Learned(one));
  EXPECT_EQ(HeldOut(four), HeldOut(one));
  EXPECT_EQ(blocks_source_->asked(), asked);
}

// 403 items: 40 blocks and a short one, 4 of them held out; 3 passes.
TEST_F(BlockFeedTest, EachBlockIsAskedForOnceAPassBeforeItsFirstItemIsFilled) {
  Open(403);
  StartBlocks(kBlocks, {.seed = 9, .passes = 3, .holdout = 0.1});
  (void)TrainAll();
  EXPECT_EQ(blocks_source_->asked(), std::vector<int>(403, 3));
  EXPECT_EQ(blocks_source_->calls(), 3u * 41u);
  EXPECT_EQ(blocks_source_->largest(), 10u);
  EXPECT_EQ(blocks_source_->unasked(), 0);
}

// A group of 4 blocks and one more (a quarter) before the first batch, and one or two by each batch
// of 8: nothing is asked for far ahead of its use.
TEST_F(BlockFeedTest, ReadsAheadAGroupAndAQuarterOfOne) {
  Open(403);
  StartBlocks(kBlocks, {.seed = 9, .passes = 1});
  ASSERT_TRUE(feed_->PollOnce(kSoon));
  EXPECT_EQ(blocks_source_->calls(), 6u);  // 5 at the beginning; the sixth begins 50 places on
  for (std::uint64_t batch = 2; batch <= 20; ++batch) {
    (void)Train();
    ASSERT_TRUE(feed_->PollOnce(kSoon));
    EXPECT_EQ(blocks_source_->calls(), 5 + (batch * 8 + 9) / 10) << batch;
  }
}

TEST_F(BlockFeedTest, WhatGoesOnGivesTheSameBatchesByTheBlocksThatItWasSavedWith) {
  Open(403);
  const DataFeedSettings settings{.seed = 9, .passes = 2, .holdout = 0.1};
  StartBlocks(kBlocks, settings);
  const std::vector<Got> all = TrainAll();
  const int pass = static_cast<int>(all.size()) / 2;
  for (const int trained : {1, 7, pass - 5, pass, pass + 3})
    for (const ReadBlocks& now : {kBlocks, ReadBlocks{16, 2}, ReadBlocks{}}) {
      StartBlocks(kBlocks, settings);
      for (int i = 0; i < trained; ++i) {
        ASSERT_TRUE(feed_->PollOnce(kSoon));
        ASSERT_TRUE(Train().has_value());
      }
      const SavedState state = Saved();
      StartBlocks(now, settings);
      const Status loaded = feed_->Load(StateReader(state, "data"));
      ASSERT_TRUE(loaded.ok()) << loaded;
      EXPECT_EQ(TrainAll(), std::vector<Got>(all.begin() + trained, all.end())) << trained;
      EXPECT_EQ(blocks_source_->unasked(), 0) << trained;
    }
}

TEST_F(BlockFeedTest, AStateFromBeforeThereWereBlocksGoesOnWithoutThemAndAsksForEachItem) {
  Open(403);
  const DataFeedSettings settings{.seed = 9, .passes = 2, .holdout = 0.1};
  StartBlocks({}, settings);
  const std::vector<Got> all = TrainAll();
  StartBlocks({}, settings);
  ASSERT_TRUE(feed_->PollOnce(kSoon));
  ASSERT_TRUE(Train().has_value());
  SavedState old = Saved();
  old.words.erase("data.blocks");
  StartBlocks(kBlocks, settings);
  ASSERT_TRUE(feed_->Load(StateReader(old, "data")).ok());
  EXPECT_EQ(TrainAll(), std::vector<Got>(all.begin() + 1, all.end()));
  EXPECT_EQ(blocks_source_->largest(), 1u);
  EXPECT_EQ(blocks_source_->unasked(), 0);
}

}  // namespace
}  // namespace murmurate
