// A barrier whose shard and one of its workers die together, without sockets and with the test's
// clock: what the checkpoint lacks is merged again, of those who are left.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "server/parameters/shard.h"
#include "tests/parameters/live_cluster.h"
#include "tests/parameters/plain_shard.h"

namespace murmurate {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

class BarrierRestart : public testing::Test {
 protected:
  BarrierRestart() {
    settings_.rule.name = RuleName::kSync;
    settings_.workers = 3;
  }

  /// Worker `number`, whose id is 10 more; the last push that this shard knows of it.
  std::uint64_t Join(Shard& shard, std::uint32_t number, std::uint64_t step) {
    wire::Join join = JoinOf(SmallSpec(), settings_);
    join.worker = number;
    join.step = step;
    const auto joined = shard.Join(10 + number, join, now_);
    EXPECT_TRUE(joined.ok()) << joined.status().message();
    return joined.ok() ? joined->step : 0;
  }
  /// A gradient of which all numbers are `value`; step 0: parameters.
  void Push(Shard& shard, std::uint32_t number, const wire::Push& push, float value) {
    AlignedFloats block(shard.block_floats());
    std::fill(block.begin(), block.end(), value);
    EXPECT_TRUE(shard.OnPush(10 + number, push, block, now_).ok());
  }
  static wire::Push OfRound(std::uint64_t round) {
    return {.step = round, .pulled = round - 1, .learning_rate = 0.1};
  }

  ShardSettings settings_ = PlainAsgd();
  std::int64_t now_ = 1;
};

/// From 1, of three: 1 - 0.1 (1 + 2 + 3)/3 = 0.8, which is kept, and 0.8 - 0.1 (3 + 6 + 9)/3 = 0.2,
/// which is not. Of two: 0.8 - 0.1 (3 + 6)/2 = 0.35, and 0.35 - 0.1 (1 + 2)/2 = 0.2.
TEST_F(BarrierRestart, TheSurvivorsRoundsAreMergedAgainOnceAndTheDeadIsWaitedForOnce) {
  SavedState kept;
  Shard first(settings_, 0, 1, [](LogLevel, std::string_view) {});
  for (const std::uint32_t worker : {0u, 1u, 2u}) Join(first, worker, 0);
  Push(first, 0, {}, 1.0f);
  for (const std::uint32_t worker : {0u, 1u, 2u})
    Push(first, worker, OfRound(1), 1.0f + static_cast<float>(worker));
  first.Save(&kept);
  for (const std::uint32_t worker : {0u, 1u, 2u})
    Push(first, worker, OfRound(2), 3.0f + 3.0f * static_cast<float>(worker));
  ASSERT_EQ(first.version(), 2u);
  EXPECT_FLOAT_EQ(first.center()[0], 0.2f);

  Shard again(settings_, 0, 1, [](LogLevel, std::string_view) {});
  ASSERT_TRUE(again.Load(kept, SmallSpec().ToText()).ok());
  EXPECT_FLOAT_EQ(again.center()[0], 0.8f);
  again.Tick(now_);
  for (const std::uint32_t worker : {0u, 1u}) {
    EXPECT_EQ(Join(again, worker, 2), 1u) << "what it has: the second comes again";
    Push(again, worker, OfRound(2), 3.0f + 3.0f * static_cast<float>(worker));
  }
  EXPECT_EQ(again.version(), 1u) << "worker 2 may come back";
  now_ += 3 * kSecond;
  for (const std::uint64_t id : {10u, 11u}) again.OnAlive(id, false, now_);
  again.Tick(now_);
  EXPECT_EQ(again.version(), 2u);
  EXPECT_FLOAT_EQ(again.center()[0], 0.35f);
  const auto answers = again.PopAnswers();
  ASSERT_EQ(answers.size(), 2u);
  for (const Shard::Answer& answer : answers) EXPECT_TRUE(answer.center.merged);

  Push(again, 0, OfRound(2), 3.0f);  // the answer was lost
  EXPECT_EQ(again.version(), 2u);
  Push(again, 0, OfRound(3), 1.0f);
  Push(again, 1, OfRound(3), 2.0f);  // nobody is waited for any more
  EXPECT_EQ(again.version(), 3u);
  EXPECT_FLOAT_EQ(again.center()[0], 0.2f);
}

TEST_F(BarrierRestart, AWorkerThatWasReplacedHoldsItsNumberNoMore) {
  const auto quiet = [](LogLevel, std::string_view) {};
  wire::Join zero = JoinOf(SmallSpec(), settings_);
  SavedState before, after;
  Shard first(settings_, 0, 1, quiet);
  for (const std::uint32_t worker : {0u, 1u, 2u}) Join(first, worker, 0);
  Push(first, 0, {}, 1.0f);
  first.Save(&before);

  Shard second(settings_, 0, 1, quiet);
  ASSERT_TRUE(second.Load(before, SmallSpec().ToText()).ok());
  now_ += 3 * kSecond;
  ASSERT_TRUE(second.Join(20, zero, now_).ok()) << "10, which was worker 0, has not come back";
  second.Save(&after);

  Shard third(settings_, 0, 1, quiet);
  ASSERT_TRUE(third.Load(after, SmallSpec().ToText()).ok());
  third.Tick(now_);  // members have time to come back from now on
  EXPECT_EQ(third.Join(30, zero, now_).status().code(), StatusCode::kAlreadyRunning);
  EXPECT_TRUE(third.Join(20, zero, now_).ok());
}

}  // namespace
}  // namespace murmurate
