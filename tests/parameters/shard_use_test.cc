// When the last worker of a shard has left: a shard without sockets and with the test's clock.
#include <gtest/gtest.h>

#include <string>

#include "tests/parameters/live_cluster.h"
#include "tests/parameters/plain_shard.h"

namespace murmurate {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

class ShardUse : public testing::Test {
 protected:
  explicit ShardUse(int workers = 2) : settings_(PlainAsgd()) {
    settings_.workers = workers;
    shard_ = std::make_unique<Shard>(settings_, 0, 1, [](LogLevel, std::string_view) {});
  }
  void Join(std::uint64_t id, std::uint32_t number) {
    wire::Join join = JoinOf(SmallSpec(), settings_);
    join.worker = number;
    ASSERT_TRUE(shard_->Join(id, join, now_).ok());
    const AlignedFloats block(shard_->block_floats());
    ASSERT_TRUE(shard_->OnPush(id, {}, block, now_).ok());
  }
  void Push(std::uint64_t id, std::uint64_t step) {
    const AlignedFloats block(shard_->block_floats());
    ASSERT_TRUE(shard_
                    ->OnPush(id, {.step = step, .pulled = shard_->version(), .learning_rate = 0.1},
                             block, now_)
                    .ok());
  }
  Shard::Use After(std::int64_t seconds) {
    now_ += seconds * kSecond;
    shard_->Tick(now_);
    return shard_->use(now_);
  }

  ShardSettings settings_;
  std::unique_ptr<Shard> shard_;
  std::int64_t now_ = 1;
};

TEST_F(ShardUse, WaitsForItsFirstWorkerAsLongAsItTakes) {
  EXPECT_EQ(After(0), Shard::Use::kUnused);
  EXPECT_EQ(After(100'000), Shard::Use::kUnused);
}

TEST_F(ShardUse, IsLeftAtOnceWhenAllWhoAreExpectedHaveComeAndSaidBye) {
  Join(10, 0);
  Join(11, 1);
  Push(10, 1);
  shard_->OnBye(10, now_);
  EXPECT_EQ(After(0), Shard::Use::kUsed);
  shard_->OnBye(11, now_);
  EXPECT_EQ(After(0), Shard::Use::kLeft);
}

TEST_F(ShardUse, AWorkerThatFellSilentMayBeResumedForAMinute) {
  Join(10, 0);
  Join(11, 1);
  Push(11, 1);
  shard_->OnBye(10, now_);
  EXPECT_EQ(After(59), Shard::Use::kUsed);
  Join(12, 1);  // it is resumed
  EXPECT_EQ(After(2), Shard::Use::kUsed);
  shard_->OnBye(12, now_);
  EXPECT_EQ(After(0), Shard::Use::kLeft);
}

TEST_F(ShardUse, AWorkerThatIsNotResumedIsGoneAfterAMinute) {
  Join(10, 0);
  Join(11, 1);
  Push(11, 1);
  EXPECT_EQ(After(59), Shard::Use::kUsed);
  EXPECT_EQ(After(1), Shard::Use::kLeft);
}

TEST_F(ShardUse, OneThatIsExpectedAndHasNotComeHasAMinuteAfterTheLastHasLeft) {
  Join(10, 0);
  Push(10, 1);
  shard_->OnBye(10, now_);
  EXPECT_EQ(After(59), Shard::Use::kUsed);
  EXPECT_EQ(After(1), Shard::Use::kLeft);
}

TEST_F(ShardUse, AModelThatNothingWasMergedIntoIsNotLeft) {
  Join(10, 0);  // a config that was mistyped
  shard_->OnBye(10, now_);
  EXPECT_EQ(After(100), Shard::Use::kUnused);
}

TEST_F(ShardUse, AShardThatWasStartedAgainWaitsForItsWorkers) {
  Join(10, 0);
  Join(11, 1);
  Push(10, 1);
  shard_->OnBye(11, now_);
  SavedState saved;
  shard_->Save(&saved);
  shard_ = std::make_unique<Shard>(settings_, 0, 1, [](LogLevel, std::string_view) {});
  ASSERT_TRUE(shard_->Load(saved, SmallSpec().ToText()).ok());
  EXPECT_EQ(After(0), Shard::Use::kUsed);  // its member has three seconds to join again
  EXPECT_EQ(After(100'000), Shard::Use::kUnused);
}

}  // namespace
}  // namespace murmurate
