// A feed that is saved and goes on, and the files that must be there for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/data/fingerprint.h"
#include "shared/core/clock.h"
#include "shared/core/loop.h"
#include "tests/data/feed_stage.h"

namespace murmurate {
namespace {

using testing::HasSubstr;

class FeedStateTest : public FeedStage {
 protected:
  static constexpr DataFeedSettings kSettings{.seed = 9, .passes = 2, .holdout = 0.5};

  SavedState Saved() const {
    SavedState state;
    feed_->Save(StateWriter(&state, "data"));
    return state;
  }
  /// Trains on `count` batches while all three places are read ahead.
  void TrainSome(int count) {
    for (int trained = 0; trained < count; ++trained) {
      while (feed_->PollOnce(kSoon)) continue;
      ASSERT_TRUE(Train().has_value());
    }
    while (feed_->PollOnce(kSoon)) continue;
  }
  Status GoOn(const SavedState& state, const DataFeedSettings& settings) {
    Start(settings);
    return feed_->Load(StateReader(state, "data"));
  }
  std::string Refusal(const SavedState& state, const DataFeedSettings& settings) {
    return GoOn(state, settings).message();
  }
};

// 20 to learn from and 20 held out, 8 to a batch: 3 turns and 3 turns, twice.
TEST_F(FeedStateTest, WhatGoesOnGivesTheBatchesThatWereNotTrainedOnWhateverWasReadAhead) {
  Open(40);
  Start(kSettings);
  const std::vector<Got> all = TrainAll();
  ASSERT_EQ(all.size(), 12u);
  for (int trained = 0; trained < 12; ++trained) {
    Start(kSettings);
    TrainSome(trained);
    const SavedState state = Saved();
    ASSERT_TRUE(GoOn(state, kSettings).ok()) << trained;
    const int from = trained % 6 > 3 ? trained / 6 * 6 + 3 : trained;  // scored from the beginning
    EXPECT_EQ(TrainAll(), std::vector<Got>(all.begin() + from, all.end())) << trained;
    ASSERT_EQ(ends_.size(), 1u);
    EXPECT_TRUE(ends_[0].ok());
    EXPECT_EQ(channel_->environment_steps.load(), 40u);
  }
}

TEST_F(FeedStateTest, TheBatchThatReachesTheMostStepsIsTheLastAndTheRestIsThereToGoOn) {
  Open(40);
  Start({.seed = 9, .passes = 2});
  const std::vector<Got> all = TrainAll();  // 10 batches of 8
  Start({.seed = 9, .passes = 2, .most_steps = 17});
  EXPECT_EQ(TrainAll(), std::vector<Got>(all.begin(), all.begin() + 3));
  ASSERT_EQ(ends_.size(), 1u);
  EXPECT_EQ(channel_->environment_steps.load(), 24u);
  ASSERT_TRUE(GoOn(Saved(), {.seed = 9, .passes = 2}).ok());
  EXPECT_EQ(TrainAll(), std::vector<Got>(all.begin() + 3, all.end()));
}

// What other threads had already taken up by then is not handed on.
TEST_F(FeedStateTest, ThreadsStopAtTheSameBatchAsOne) {
  Open(400);
  for (int round = 0; round < 50; ++round) {
    Start({.seed = 9, .passes = 2, .most_steps = 8});
    std::vector<std::unique_ptr<Loop>> loops;
    for (int i = 0; i < 3; ++i)
      loops.push_back(std::make_unique<Loop>(
          "mmr-data." + std::to_string(i + 1),
          [this] { feed_->PollOnce(std::chrono::milliseconds(20)); }, [this] { feed_->Stop(); }));
    int trained = 0;
    const std::int64_t deadline = MonotonicNs() + 20 * kNanosecondsPerSecond;
    while (ends_.empty() && MonotonicNs() < deadline)
      trained += Train(std::chrono::milliseconds(100)).has_value();
    ASSERT_EQ(ends_.size(), 1u);
    EXPECT_EQ(trained, 1);
    EXPECT_EQ(channel_->environment_steps.load(), 8u);
  }
}

TEST_F(FeedStateTest, MorePassesGoOnWhereFewerEnded) {
  Open(40);
  Start({.seed = 9, .passes = 3, .holdout = 0.5});
  const std::vector<Got> all = TrainAll();
  Start(kSettings);
  (void)TrainAll();
  const SavedState state = Saved();
  EXPECT_TRUE(DataFeed::IsThrough(StateReader(state, "data"), 2));
  EXPECT_FALSE(DataFeed::IsThrough(StateReader(state, "data"), 3));
  EXPECT_THAT(Refusal(state, kSettings), HasSubstr("has nothing left to learn from"));
  ASSERT_TRUE(GoOn(state, {.seed = 9, .passes = 3, .holdout = 0.5}).ok());
  EXPECT_EQ(TrainAll(), std::vector<Got>(all.begin() + 12, all.end()));
}

TEST_F(FeedStateTest, ARunThatIsNotThroughIsNotSaidToBe) {
  Open(40);
  Start(kSettings);
  TrainSome(11);
  EXPECT_TRUE(DataFeed::IsThrough(StateReader(Saved(), "data"), 1));
  EXPECT_FALSE(DataFeed::IsThrough(StateReader(Saved(), "data"), 2));
  EXPECT_FALSE(DataFeed::IsThrough(StateReader(SavedState(), "data"), 1));
}

TEST_F(FeedStateTest, WhatWouldBeAnotherPlaceIsRefusedInASentence) {
  Open(40);
  Start(kSettings);
  TrainSome(2);
  const SavedState state = Saved();
  EXPECT_THAT(Refusal(state, {.seed = 9, .passes = 2, .holdout = 0.25}),
              HasSubstr("data.holdout, items held out: the run was stopped with 20 and cannot go "
                        "on with 10"));
  EXPECT_THAT(Refusal(state, {.seed = 8, .passes = 2, .holdout = 0.5}), HasSubstr("run.seed"));
  EXPECT_THAT(Refusal(state, {.seed = 9, .passes = 2, .holdout = 0.5, .most_steps = 16}),
              HasSubstr("has nothing left"));
  EXPECT_EQ(GoOn({}, kSettings).code(), StatusCode::kInvalidData);
  Start(kSettings, 3);
  EXPECT_THAT(feed_->Load(StateReader(state, "data")).message(),
              HasSubstr("the run was stopped with 8 and cannot go on with 12"));
}

// 40 items, 16 held out: of the 24 others each of three learners has 8, each of four 6.
TEST_F(FeedStateTest, AnotherPartOfTheFilesIsRefusedInASentence) {
  Open(40);
  const auto part = [](std::uint64_t index, std::uint64_t of) {
    return DataFeedSettings{.seed = 9, .passes = 2, .holdout = 0.4, .part = {index, of, of > 1}};
  };
  Start(part(1, 3));
  TrainSome(1);
  const SavedState state = Saved();
  EXPECT_TRUE(GoOn(state, part(1, 3)).ok());
  EXPECT_THAT(Refusal(state, part(1, 4)),
              HasSubstr("run.learners (parameters.workers, ranks of mpirun) or data.divide, "
                        "learners that divide the files: "
                        "the run was stopped with 3 and cannot go on with 4"));
  EXPECT_THAT(Refusal(state, part(2, 3)), HasSubstr("parameters.worker, whose part"));
  DataFeedSettings whole = part(0, 1);
  EXPECT_THAT(Refusal(state, whole), HasSubstr("stopped with 3 and cannot go on with 1"));
  Start(whole);
  TrainSome(1);
  SavedState old = Saved();
  old.words.erase("data.part");  // from before files were divided
  EXPECT_TRUE(GoOn(old, whole).ok());
  whole.part.of_several = true;
  EXPECT_THAT(Refusal(old, whole), HasSubstr("several learners hold out other items than one"));
}

// .npy: 128 bytes of header, 4 bytes a row.
TEST_F(FeedStateTest, FilesOfOtherSizesAreRefusedByName) {
  Open(40);
  Start(kSettings);
  TrainSome(2);
  const SavedState state = Saved();
  Open(39);
  const Status changed = GoOn(state, kSettings);
  EXPECT_EQ(changed.code(), StatusCode::kInvalidData);
  EXPECT_EQ(changed.message(), folder_.path() +
                                   "/x.npy: has 284 bytes and 39 items, but had 288 bytes and 40 "
                                   "items when the run was stopped; put the file back that it had");
  Open(40);
  EXPECT_TRUE(GoOn(state, kSettings).ok());
  SavedState more = state;
  more.words["data.files"].insert(more.words["data.files"].end(), {5, 5, 5});
  EXPECT_THAT(Refusal(more, kSettings),
              HasSubstr("lie in 2 files, but the run was stopped with 3"));
}

TEST_F(FeedStateTest, AnotherFileOfTheSameSizeIsRefusedByNameAndACopyIsNot) {
  Open(40);
  Start(kSettings);
  TrainSome(2);
  const SavedState state = Saved();
  std::vector<std::int32_t> labels(40);
  labels[20] = 1;
  WriteNpy<std::int32_t>(folder_.path() + "/y.npy", "<i4", "(40,)", labels);
  Reopen();
  const Status changed = GoOn(state, kSettings);
  EXPECT_EQ(changed.code(), StatusCode::kInvalidData);
  EXPECT_EQ(changed.message(),
            folder_.path() +
                "/y.npy: has the size, but not the contents that it had when the run was stopped; "
                "put the file back that it had");
  Open(40);  // written anew: another time, the same bytes
  EXPECT_TRUE(GoOn(state, kSettings).ok());
}

std::vector<std::byte> Bytes(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 2654435761u >> 13);
  return bytes;
}

TEST(Fingerprint, OfUpToThreeMiBEveryByteCounts) {
  constexpr std::size_t kSize = 3 << 20;
  std::vector<std::byte> bytes = Bytes(kSize);
  const std::uint64_t before = FingerprintOf(bytes);
  for (const std::size_t at : {std::size_t{0}, kSize / 4, kSize / 2, kSize - 1}) {
    bytes[at] ^= std::byte{1};
    EXPECT_NE(FingerprintOf(bytes), before) << at;
    bytes[at] ^= std::byte{1};
  }
  EXPECT_EQ(FingerprintOf(bytes), before);
}

// Of 8 MiB: the first MiB, 3.5 to 4.5, and the last.
TEST(Fingerprint, OfMoreTheFirstTheMiddleAndTheLastMiBCount) {
  constexpr std::size_t kMiB = 1 << 20;
  std::vector<std::byte> bytes = Bytes(8 * kMiB);
  const std::uint64_t before = FingerprintOf(bytes);
  const auto after = [&](std::size_t at) {
    bytes[at] ^= std::byte{1};
    const std::uint64_t changed = FingerprintOf(bytes);
    bytes[at] ^= std::byte{1};
    return changed;
  };
  for (const std::size_t at :
       {std::size_t{0}, kMiB - 1, 7 * kMiB / 2, 9 * kMiB / 2 - 1, 7 * kMiB, 8 * kMiB - 1})
    EXPECT_NE(after(at), before) << at;
  for (const std::size_t at : {kMiB, 7 * kMiB / 2 - 1, 9 * kMiB / 2, 7 * kMiB - 1})
    EXPECT_EQ(after(at), before) << at;
}

}  // namespace
}  // namespace murmurate
