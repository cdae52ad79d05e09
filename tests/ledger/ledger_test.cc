// The ledger counts every step once, whatever the order, and floats hold its sums exactly.
#include "tests/ledger/ledger.h"

#include <gtest/gtest.h>

#include "server/learn/algorithms.h"
#include "server/learn/learner.h"
#include "shared/core/random.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {
namespace {

const Spaces kSpaces{Box({2}, -10, 10), Discrete(3)};

/// A batch of `trajectories` agents, 4 steps each, whose numbers are drawn.
TrainingBatch Batch(const TrajectoryLayout& layout, int trajectories, Random& random) {
  TrainingBatch batch(layout, trajectories);
  for (std::uint32_t agent = 0; agent < static_cast<std::uint32_t>(trajectories); ++agent) {
    std::vector<float> seen(8), log_prob(4, -1.0f), reward(4), next(2);
    for (float& number : seen) number = random.Uniform();
    for (float& number : reward) number = random.Uniform();
    const std::vector<std::int32_t> action{0, 1, 2, 0};
    const std::vector<std::uint8_t> flags{kFirst, 0, 0, 0};
    TrajectoryView view;
    view.agent = agent;
    view.first_step = random.UniformInt(1000);
    view.version = 1;
    view.steps = 4;
    view.observation = RowsOf(seen);
    view.action = action;
    view.log_prob = log_prob;
    view.reward = reward;
    view.flags = flags;
    view.next_observation = RowsOf(next);
    EXPECT_TRUE(batch.Add(view));
  }
  return batch;
}

LedgerSum SumOf(const TrainingBatch& batch) {
  LedgerSum sum;
  for (int slot = static_cast<int>(batch.trajectories.size()) - 1; slot >= 0; --slot)
    for (int step = 0; step < batch.trajectories[slot].steps; ++step)
      sum.Add(HashOfStep(batch.View(slot), step));
  return sum;
}

TEST(Ledger, NumbersHoldSumsExactly) {
  const LedgerSums sums{{.count = 70'000, .hash = ~std::uint64_t{0}},
                        {.count = 1, .hash = 0x0123456789abcdef}};
  std::vector<float> numbers(LedgerSums::kNumbers);
  sums.CopyTo(numbers);
  EXPECT_EQ(LedgerSums::Of(numbers).inserted, sums.inserted);
  EXPECT_EQ(LedgerSums::Of(numbers).sampled, sums.sampled);
  for (const float number : numbers) EXPECT_LT(number, 65536.0f);
}

TEST(Ledger, AStepThatDiffersInAnythingHasAnotherHash) {
  Random random(1);
  const TrainingBatch batch = Batch(TrajectoryLayout(kSpaces, 4), 1, random);
  const TrajectoryView view = batch.View(0);
  const std::uint64_t hash = HashOfStep(view, 1);
  TrajectoryView other = view;
  other.agent = 7;
  EXPECT_NE(HashOfStep(other, 1), hash);
  other = view;
  ++other.first_step;
  EXPECT_NE(HashOfStep(other, 1), hash);
  std::vector<std::int32_t> action(view.action.begin(), view.action.end());
  action[1] = 0;
  other = view;
  other.action = action;
  EXPECT_NE(HashOfStep(other, 1), hash);
  std::vector<float> reward(view.reward.begin(), view.reward.end());
  reward[1] += 0.5f;
  other = view;
  other.reward = reward;
  EXPECT_NE(HashOfStep(other, 1), hash);
  std::vector<std::uint8_t> flags(view.flags.begin(), view.flags.end());
  flags[1] = kTruncatedFlag;
  other = view;
  other.flags = flags;
  EXPECT_NE(HashOfStep(other, 1), hash);
  std::vector<float> seen(NumbersOf(view.observation).begin(), NumbersOf(view.observation).end());
  std::swap(seen[2], seen[3]);
  other = view;
  other.observation = RowsOf(seen);
  EXPECT_NE(HashOfStep(other, 1), hash);
  EXPECT_EQ(HashOfStep(other, 2), HashOfStep(view, 2));
}

TEST(Ledger, WeightsSayWhatWasLearnedFrom) {
  AlgorithmSettings settings;
  settings.kind = &LedgerKind();
  settings.optimizer = OptimizerSettings::Name::kSgd;
  settings.learning_rate = 1.0;
  settings.max_grad_norm = 0.0;
  settings.normalize_reward = false;
  const auto spec = LedgerKind().networks(PolicyAndValue{.spaces = kSpaces, .trunk = {}}, {});
  ASSERT_TRUE(spec.ok()) << spec.status();
  Learner learner(*spec, settings, 1);
  Random random(2);
  LedgerSums wanted;
  for (int i = 0; i < 300; ++i) {
    TrainingBatch batch = Batch(TrajectoryLayout(*spec, 4), 70, random);
    const bool sampled = i % 3 == 2;
    if (sampled) batch.samples = TrainingBatch::Samples::kReplayed;
    const LedgerSum sum = SumOf(batch);
    LedgerSum& to = sampled ? wanted.sampled : wanted.inserted;
    to.count += sum.count;
    to.hash += sum.hash;
    ASSERT_FALSE(learner.Learn(batch, 0).left_out);
    const LedgerSums found = LedgerSums::In(*spec, learner.MakeSnapshot()->parameters);
    ASSERT_EQ(found.inserted, wanted.inserted) << i;
    ASSERT_EQ(found.sampled, wanted.sampled) << i;
  }
  EXPECT_GT(wanted.inserted.count, 50'000u);
}

}  // namespace
}  // namespace murmurate
