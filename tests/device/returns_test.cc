// Returns on a device against Advantages.
#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "server/device/device_returns.h"
#include "server/learn/advantages.h"
#include "server/learn/on_policy_sums.h"
#include "shared/core/random.h"
#include "tests/device/device_blocks.h"

namespace murmurate {
namespace {

using namespace on_policy_sums;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

AlgorithmSettings SettingsOf(int length, int slots) {
  AlgorithmSettings settings;
  settings.trajectory_length = length;
  settings.batch_steps = length * slots;
  return settings;
}

/// A batch of random numbers, trajectories of different lengths among it, and its plan.
struct PlayedBatch {
  /// An episode ends after one of `ends_in` / 2 steps, by termination or truncation.
  explicit PlayedBatch(const AlgorithmSettings& settings, std::vector<int> planned,
                       std::uint32_t ends_in = 10)
      : length(settings.trajectory_length),
        batch(TrajectoryLayout(Spaces{Box({1}), Discrete(2)}, length),
              settings.batch_steps / length) {
    Random random(4);
    const auto normal = [&](double scale) { return static_cast<float>(scale * random.Normal()); };
    plan.clip = 0.2f;
    plan.slots = std::move(planned);
    for (int slot = 0; slot < batch.capacity; ++slot)
      batch.trajectories.push_back({.steps = 1 + (slot * 7 + length - 1) % length});
    for (int row = 0; row < batch.rows(); ++row) {
      batch.log_prob[row] = normal(0.4);
      batch.reward[row] = normal(1);
      const std::uint32_t ends = random.UniformInt(ends_in);
      batch.flags[row] = ends == 0 ? kTerminatedFlag : ends == 1 ? kTruncatedFlag : 0;
      for (auto* column : {&values, &next_values, &log_prob}) column->push_back(normal(0.5));
    }
    for (const int slot : plan.slots)
      for (int step = 0; step < batch.trajectories[slot].steps; ++step)
        plan.rows.push_back(slot * length + step);
  }

  /// What the network sees: rows, what followed them, and padding.
  std::vector<SeenRow> Seen() const {
    static const std::byte kFollowed{};
    std::vector<SeenRow> seen;
    for (const std::int32_t row : plan.rows) {
      seen.push_back({.row = row});
      if (row % 3 == 0) seen.push_back({});
      seen.push_back({.row = row, .successor = &kFollowed});
    }
    return seen;
  }

  const int length;
  TrainingBatch batch;
  BatchPlan plan;
  std::vector<float> values, next_values, log_prob;  ///< of the network
};

struct ReturnAnswer {
  std::vector<float> target, advantage, start;
  TrainingControl control = {};
};

/// The rows that the network saw, as columns.
struct SeenColumns {
  SeenColumns(const PlayedBatch& played, const std::vector<SeenRow>& seen) {
    for (const SeenRow& one : seen) {
      const bool padding = one.row == SeenRow::kPadding, follows = one.successor != nullptr;
      row.push_back(one.row);
      source.push_back(follows ? 2 : 0);
      values.push_back(padding   ? kNan
                       : follows ? played.next_values[one.row]
                                 : played.values[one.row]);
      log_prob.push_back(padding || follows ? kNan : played.log_prob[one.row]);
      deviation.push_back(padding || follows ? kNan : 0.25f);
    }
  }
  DeviceSeenRows Put(DeviceBlocks* blocks) const {
    return {.rows = static_cast<int>(row.size()),
            .row = blocks->Put(row),
            .source = blocks->Put(source),
            .values = blocks->Put(values),
            .log_prob = blocks->Put(log_prob),
            .deviation = blocks->Put(deviation)};
  }
  std::vector<std::int32_t> row, source;
  std::vector<float> values, log_prob, deviation;
};

template <typename T>
std::vector<T> VectorOf(std::span<T> numbers) {
  return {numbers.begin(), numbers.end()};
}

DevicePlan PutPlan(DeviceBlocks* blocks, const PlayedBatch& played) {
  std::vector<std::int32_t> slots(played.plan.slots.begin(), played.plan.slots.end()), steps;
  for (const int slot : played.plan.slots) steps.push_back(played.batch.trajectories[slot].steps);
  std::vector<std::int32_t> rows = played.plan.rows;
  const DevicePlanCounts counts{static_cast<std::uint32_t>(slots.size()),
                                static_cast<std::uint32_t>(rows.size())};
  slots.resize(played.batch.capacity, 1 << 30);  // what is not in use points nowhere
  steps.resize(slots.size(), 1 << 30);
  rows.resize(played.batch.rows(), 1 << 30);
  return {.counts = blocks->Put(std::vector{counts}),
          .slots = blocks->Put(slots),
          .steps = blocks->Put(steps),
          .rows = blocks->Put(rows),
          .most_slots = static_cast<int>(slots.size()),
          .most_rows = static_cast<int>(rows.size())};
}

ReturnAnswer AskDevice(const AlgorithmSettings& settings, bool weighs, const PlayedBatch& played,
                       std::uint64_t seed = 0) {
  const SeenColumns seen(played, played.Seen());
  DeviceBlocks blocks(seed);
  const DeviceReturns returns(settings, weighs, static_cast<int>(seen.row.size()) + 1,
                              blocks.memory());
  blocks.Allocate();
  TrainingControl control{};
  control.clip = played.plan.clip;
  TrainingControl* const on_device = blocks.Put(control);
  const float* const behaviour = blocks.Put(VectorOf(played.batch.log_prob));
  returns.EnqueueClear(blocks.device(), Stream::kMain);
  if (!seen.row.empty())
    returns.EnqueueRecord(blocks.device(), Stream::kMain, seen.Put(&blocks), behaviour, on_device);
  returns.EnqueueCompute(blocks.device(), Stream::kMain, PutPlan(&blocks, played),
                         {.length = played.length,
                          .reward = blocks.Put(VectorOf(played.batch.reward)),
                          .flags = blocks.Put(VectorOf(played.batch.flags))},
                         on_device);
  const auto rows = static_cast<std::size_t>(played.batch.rows());
  return {blocks.Read(returns.target(), rows), blocks.Read(returns.advantage(), rows),
          blocks.Read(returns.start_log_prob(), rows), blocks.Read(on_device)};
}

Advantages OnHost(const AlgorithmSettings& settings, bool weighs, const PlayedBatch& played) {
  Advantages advantages(settings, weighs);
  const std::vector<SeenRow> seen = played.Seen();
  const SeenColumns columns(played, seen);
  advantages.Record(played.batch, seen, columns.values, columns.log_prob);
  advantages.Compute(played.batch, played.plan);
  return advantages;
}

void ExpectStatistics(const double* sums, const AdvantageStatistics& want, double rows,
                      bool corrects) {
  ExpectNear(sums[kExplainedVariance], want.explained_variance, "explained_variance");
  ExpectNear(sums[kLagKl], want.lag_kl, "lag_kl");
  ExpectNear(sums[kEffective], want.effective_share * rows, "effective");
  ExpectNear(sums[kTruncated], want.truncated_share * rows, "truncated");
  ExpectNear(sums[kTarget], want.target_mean * rows, "target");
  ExpectNear(sums[kTargetSpread], want.target_deviation * rows, "target spread");
  ExpectNear(sums[kAdvantage], want.advantage_mean * rows, "advantage");
  ExpectNear(sums[kAdvantageSpread], want.advantage_deviation * rows, "advantage spread");
  EXPECT_EQ(sums[kRows], rows);
  EXPECT_EQ(sums[kCorrectedRows], corrects ? rows : 0.0);
  EXPECT_EQ(sums[kClip], double{0.2f});
  EXPECT_EQ(sums[kDeviation], 0.25 * rows);
  EXPECT_EQ(sums[kDeviationRows], rows);
}

void ExpectTheSame(const AlgorithmSettings& settings, bool weighs, const PlayedBatch& played) {
  const Advantages want = OnHost(settings, weighs, played);
  const ReturnAnswer got = AskDevice(settings, weighs, played);
  const auto of_rows = [&](std::span<const float> column) {
    std::vector<float> numbers;
    for (const std::int32_t row : played.plan.rows) numbers.push_back(column[row]);
    return numbers;
  };
  ExpectNear(of_rows(got.target), of_rows(want.target()), "target");
  ExpectNear(of_rows(got.advantage), of_rows(want.advantage()), "advantage");
  ExpectNear(of_rows(got.start), of_rows(want.start_log_prob()), "start_log_prob");
  ExpectStatistics(got.control.sums, want.statistics(),
                   static_cast<double>(played.plan.rows.size()),
                   settings.staleness == StalenessPolicy::kVtrace);
  const ReturnAnswer again = AskDevice(settings, weighs, played, 7);
  EXPECT_TRUE(SameBits(got.target, again.target));
  EXPECT_TRUE(SameBits(got.advantage, again.advantage));
  EXPECT_EQ(std::memcmp(got.control.sums, again.control.sums, sizeof got.control.sums), 0);
}

TEST(DeviceReturns, EveryLengthAsOnTheProcessor) {
  for (const int length : {1, 2, 8, 33, 128}) {
    SCOPED_TRACE(length);
    const AlgorithmSettings settings = SettingsOf(length, 5);
    ExpectTheSame(settings, false, PlayedBatch(settings, {3, 0, 4}));
  }
  const AlgorithmSettings many = SettingsOf(4, 300);  // more than a block of trajectories
  std::vector<int> all(300);
  std::iota(all.begin(), all.end(), 0);
  ExpectTheSame(many, false, PlayedBatch(many, all));
}

TEST(DeviceReturns, LongTrajectoriesAsOnTheProcessor) {
  for (const int length : {512, 1000, 4096}) {
    for (const bool corrects : {true, false}) {
      SCOPED_TRACE(testing::Message() << length << " steps, corrects " << corrects);
      AlgorithmSettings settings = SettingsOf(length, 2);
      settings.gamma = 0.999;
      settings.lambda = 1.0;
      settings.staleness = corrects ? StalenessPolicy::kVtrace : StalenessPolicy::kDrop;
      ExpectTheSame(settings, !corrects, PlayedBatch(settings, {1, 0}, corrects ? 100 : 4000));
    }
  }
}

TEST(DeviceReturns, WhatIsNoNumberStaysInItsEpisode) {
  const AlgorithmSettings settings = SettingsOf(512, 1);
  ASSERT_TRUE(ScansReturns(512, 1));
  PlayedBatch played(settings, {0}, 1 << 30);
  std::ranges::fill(played.batch.flags, std::uint8_t{0});
  played.batch.trajectories[0].steps = 512;
  played.batch.flags[300] = kTerminatedFlag;
  played.batch.reward[400] = kNan;
  const ReturnAnswer got = AskDevice(settings, false, played);
  for (int row = 0; row < 512; ++row)
    EXPECT_EQ(std::isfinite(got.target[row]), row <= 300 || row > 400) << row;
}

TEST(DeviceReturns, AreScannedWhereTrajectoriesAreLongAndFew) {
  for (const int length : {512, 1000, 4096, 100000}) {
    EXPECT_TRUE(ScansReturns(length, 1)) << length;
    EXPECT_TRUE(ScansReturns(length, 512)) << length;
    EXPECT_FALSE(ScansReturns(length, 1000000)) << length;
  }
  for (const int length : {1, 8, 32})
    for (const int trajectories : {1, 100, 100000})
      EXPECT_FALSE(ScansReturns(length, trajectories)) << length;
}

TEST(DeviceReturns, EverySettingAsOnTheProcessor) {
  AlgorithmSettings settings = SettingsOf(16, 4);
  settings.rho_bar = 1.2;
  settings.c_bar = 0.9;
  settings.rho_pg_bar = 1.1;
  const PlayedBatch played(settings, {1, 2, 3});
  for (const StalenessPolicy staleness : {StalenessPolicy::kVtrace, StalenessPolicy::kDrop}) {
    for (const bool weighs : {false, true}) {
      for (const bool normalizes : {false, true}) {
        settings.staleness = staleness;
        settings.normalize_advantage = normalizes;
        SCOPED_TRACE(testing::Message() << static_cast<int>(staleness) << weighs << normalizes);
        ExpectTheSame(settings, weighs, played);
      }
    }
  }
}

TEST(DeviceReturns, ABatchWithoutRowsHasNoStatisticsButTheClip) {
  const AlgorithmSettings settings = SettingsOf(8, 2);
  ReturnAnswer got = AskDevice(settings, false, PlayedBatch(settings, {}));
  EXPECT_EQ(std::exchange(got.control.sums[kClip], 0.0), double{0.2f});
  for (const double sum : got.control.sums) EXPECT_EQ(sum, 0.0);
  for (const float advantage : got.advantage) EXPECT_EQ(advantage, 0.0f);
}

TEST(DeviceReturns, MeasuresHowFarThePolicyHasGone) {
  const AlgorithmSettings settings = SettingsOf(64, 5);
  PlayedBatch played(settings, {0, 2, 3});
  const SeenColumns before(played, played.Seen());
  DeviceBlocks blocks(0);
  const DeviceReturns returns(settings, false, static_cast<int>(before.row.size()),
                              blocks.memory());
  blocks.Allocate();
  const float* const behaviour = blocks.Put(VectorOf(played.batch.log_prob));
  TrainingControl control{};
  control.sums[kWeight] = 10.0;
  TrainingControl* const on_device = blocks.Put(control);
  const DevicePlan plan = PutPlan(&blocks, played);
  returns.EnqueueRecord(blocks.device(), Stream::kMain, before.Put(&blocks), behaviour, on_device);

  double kl = 0.0;
  for (const std::int32_t row : played.plan.rows) {
    const float start = played.log_prob[row];
    played.log_prob[row] = row == played.plan.rows[5] ? start + 90.0f : start + 0.01f * (row % 7);
    const double change = std::min(double{played.log_prob[row]} - double{start}, 80.0);
    kl += (std::exp(change) - 1.0 - change) / static_cast<double>(played.plan.rows.size());
  }
  const SeenColumns after(played, played.Seen());
  DeviceSeenRows seen = after.Put(&blocks);
  const int half = seen.rows / 2;  // in two parts
  DeviceSeenRows rest{.rows = seen.rows - half,
                      .row = seen.row + half,
                      .source = seen.source + half,
                      .log_prob = seen.log_prob + half};
  seen.rows = half;
  returns.EnqueueChange(blocks.device(), Stream::kMain, seen, plan.counts, on_device);
  returns.EnqueueChange(blocks.device(), Stream::kMain, rest, plan.counts, on_device);
  control = blocks.Read(on_device);
  ExpectNear(control.kl, kl, "kl");
  ExpectNear(control.sums[kApproxKl], 10.0 * kl, "approx_kl");
}

}  // namespace
}  // namespace murmurate
