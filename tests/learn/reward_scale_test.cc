#include "server/learn/reward_scale.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include "shared/core/random.h"
#include "tests/learn/example_batches.h"
#include "tests/source_file.h"

namespace murmurate {
namespace {

/// One number seen, one of two actions taken; rewards and ends as given.
struct Trajectory {
  std::uint32_t agent = 0;
  std::uint64_t first_step = 0;
  std::vector<float> reward;
  std::vector<std::uint8_t> flags;
};

AlgorithmSettings Settings(double gamma, int length) {
  AlgorithmSettings settings;
  settings.trajectory_length = length;
  settings.batch_steps = 8 * length;
  settings.gamma = gamma;
  settings.normalize_reward = true;
  return settings;
}

TrainingBatch BatchOf(const std::vector<Trajectory>& trajectories, int length) {
  TrainingBatch batch(TrajectoryLayout(Spaces{Box({1}), Discrete(2)}, length), 8);
  for (const Trajectory& trajectory : trajectories) {
    const std::size_t steps = trajectory.reward.size();
    const std::vector<float> zeros(steps), next(1);
    const std::vector<std::int32_t> actions(steps);
    std::vector<float> finals;
    for (const std::uint8_t flags : trajectory.flags)
      if ((flags & kTruncatedFlag) != 0) finals.push_back(0.0f);
    TrajectoryView view;
    view.agent = trajectory.agent;
    view.first_step = trajectory.first_step;
    view.version = 1;
    view.steps = static_cast<int>(steps);
    view.observation = RowsOf(zeros);
    view.action = actions;
    view.log_prob = zeros;
    view.reward = trajectory.reward;
    view.flags = trajectory.flags;
    view.final_observation = RowsOf(finals);
    view.next_observation = RowsOf(next);
    EXPECT_TRUE(batch.Add(view));
  }
  return batch;
}

std::vector<float> Rewards(const TrainingBatch& batch, int place) {
  const auto first = batch.reward.begin() + place * batch.length;
  return {first, first + batch.trajectories[place].steps};
}

TEST(RewardScale, DividesByTheDeviationOfTheDiscountedReturns) {
  RewardScale scale(Settings(0.5, 4));
  // Returns 2, then 0.5 * 2 + 4 = 5; after the termination 1; after the truncation 8. Their mean is
  // 4 and the variance (4 + 1 + 9 + 16) / 4 = 7.5.
  TrainingBatch batch = BatchOf(
      {{0, 0, {2, 4, 1, 8}, {kFirst, kTerminatedFlag, kFirst | kTruncatedFlag, kFirst}}}, 4);
  scale.Apply(batch);
  EXPECT_EQ(scale.statistics().count, 4.0);
  EXPECT_DOUBLE_EQ(scale.statistics().mean, 4.0);
  EXPECT_DOUBLE_EQ(scale.statistics().m2, 30.0);
  const double deviation = std::sqrt(7.5);
  const std::vector<float> first = Rewards(batch, 0);
  for (int i = 0; i < 4; ++i)
    EXPECT_NEAR(first[i], std::vector<double>({2, 4, 1, 8})[i] / deviation, 1e-6) << i;

  // It goes on: 0.5 * 8 + 2 = 6, then 3 + 1 = 4. All six: 2, 5, 1, 8, 6, 4 have the sum 26 and the
  // squares 146.
  TrainingBatch more = BatchOf({{0, 4, {2, 1}, {0, 0}}}, 4);
  scale.Apply(more);
  EXPECT_DOUBLE_EQ(scale.statistics().mean, 26.0 / 6.0);
  EXPECT_NEAR(scale.statistics().m2, 146.0 - 676.0 / 6.0, 1e-12);
  EXPECT_NEAR(Rewards(more, 0)[0], 2.0 / std::sqrt((146.0 - 676.0 / 6.0) / 6.0), 1e-6);
}

/// The mean of the returns of a second trajectory {4, 4} that begins at `first_step`, gamma 0.5,
/// after a first one of agent 0 that ended at step 2 with the return 3.
double MeanAfter(std::uint32_t agent, std::uint64_t first_step, std::uint8_t flags) {
  RewardScale scale(Settings(0.5, 4));
  TrainingBatch batch = BatchOf({{0, 0, {2, 2}, {kFirst, 0}}}, 4);  // returns 2, 3
  scale.Apply(batch);
  batch = BatchOf({{agent, first_step, {4, 4}, {flags, 0}}}, 4);
  scale.Apply(batch);
  return (scale.statistics().mean * 4 - 5) / 2;
}

TEST(RewardScale, ARunningReturnGoesOnOverGapsAndBeginsAnewWithAnEpisode) {
  EXPECT_DOUBLE_EQ(MeanAfter(0, 2, 0), (5.5 + 6.75) / 2);
  EXPECT_DOUBLE_EQ(MeanAfter(0, 3, 0), (5.5 + 6.75) / 2) << "a step is missing";
  EXPECT_DOUBLE_EQ(MeanAfter(0, 2, kFirst), (4.0 + 6.0) / 2) << "an episode that was given up";
  EXPECT_DOUBLE_EQ(MeanAfter(1, 2, kFirst), (4.0 + 6.0) / 2) << "another agent's episode";
  EXPECT_DOUBLE_EQ(MeanAfter(1, 2, 0), (5.25 + 6.625) / 2)
      << "an agent in mid-episode begins at the mean of the statistics, 2.5";
}

/// The deviation after 4,000 trajectories of 8 steps of one agent, whose episodes have 40 steps
/// with a reward of 1 each; each trajectory arrives with probability `kept`.
double DeviationOf(double kept) {
  RewardScale scale(Settings(0.99, 8));
  Random random(1);
  for (int i = 0; i < 4000; ++i) {
    if (random.Uniform() >= kept) continue;
    std::vector<std::uint8_t> flags(8, 0);
    if (i % 5 == 0) flags[0] = kFirst;
    if (i % 5 == 4) flags[7] = kTerminatedFlag;
    TrainingBatch batch =
        BatchOf({{0, static_cast<std::uint64_t>(8 * i), std::vector<float>(8, 1.0f), flags}}, 8);
    scale.Apply(batch);
  }
  return std::sqrt(scale.statistics().variance());
}

TEST(RewardScale, DroppedTrajectoriesDoNotMakeTheDeviationSmall) {
  // R_t = 100 (1 - 0.99^t) for t of 1 to 40. With a return that began at 0 after each gap it would
  // be that of t up to 8, now and then 16: a quarter of the deviation.
  double mean = 0, square = 0;
  for (int t = 1; t <= 40; ++t) {
    const double r = 100 * (1 - std::pow(0.99, t));
    mean += r / 40;
    square += r * r / 40;
  }
  const double all = std::sqrt(square - mean * mean);
  EXPECT_NEAR(DeviationOf(1.0), all, 1e-3 * all);
  EXPECT_GT(DeviationOf(0.2), 0.8 * all);
  EXPECT_LT(DeviationOf(0.2), 2.5 * all) << "an end that was dropped lengthens an episode";
}

TEST(RewardScale, ATrajectoryThatIsDroppedIsAGapAndUnread) {
  RewardScale scale(Settings(0.5, 2));
  TrainingBatch batch = BatchOf({{0, 0, {2, 2}, {kFirst, 0}},
                                 {0, 2, {std::numeric_limits<float>::quiet_NaN(), 0}, {0, 0}},
                                 {0, 4, {4, 4}, {0, 0}}},
                                2);
  batch.weight[2] = batch.weight[3] = 0.0f;
  scale.Apply(batch);
  EXPECT_EQ(scale.statistics().count, 4.0);
  EXPECT_DOUBLE_EQ(scale.statistics().mean, (2.0 + 3 + 5.5 + 6.75) / 4);
  EXPECT_TRUE(std::isnan(batch.reward[2]));
}

TEST(RewardScale, ScalesAndCutsWithoutStatistics) {
  AlgorithmSettings settings = Settings(0.99, 4);
  settings.normalize_reward = false;
  const auto rewards = [&](double factor, double clip) {
    settings.reward_scale = factor;
    settings.reward_clip = clip;
    RewardScale scale(settings);
    TrainingBatch batch = BatchOf({{0, 0, {-3, 0.5, 8, 3e38f}, {kFirst, 0, 0, 0}}}, 4);
    scale.Apply(batch);
    EXPECT_EQ(scale.statistics().count, 0.0);
    return Rewards(batch, 0);
  };
  using Numbers = std::vector<float>;
  EXPECT_EQ(rewards(1, 0), (Numbers{-3, 0.5, 8, 3e38f}));
  EXPECT_EQ(rewards(0.25, 0), (Numbers{-0.75, 0.125, 2, 7.5e37f}));
  EXPECT_EQ(rewards(2, 5), (Numbers{-5, 1, 5, 5}));
  EXPECT_EQ(rewards(1, 1), (Numbers{-1, 0.5, 1, 1}));
  EXPECT_EQ(rewards(100, 0)[3], std::numeric_limits<float>::max());
}

TEST(RewardScale, NoRewardAtAllStaysNone) {
  RewardScale scale(Settings(0.9, 4));
  TrainingBatch batch = BatchOf({{0, 0, {0, 0, 0}, {kFirst, 0, 0}}}, 4);
  scale.Apply(batch);
  EXPECT_EQ(Rewards(batch, 0), (std::vector<float>{0, 0, 0}));
  batch = BatchOf({}, 4);
  scale.Apply(batch);
  EXPECT_EQ(scale.statistics().count, 3.0);
}

std::uint8_t FlagsOf(const std::string& word) {
  std::uint8_t flags = 0;
  for (const char c : word) flags |= c == 'f' ? kFirst : c == 't' ? kTerminatedFlag : 0;
  return word.ends_with('c') ? flags | kTruncatedFlag : flags;
}

/// What Gymnasium makes of two agents' steps with ends, cuts and gaps between them.
struct Fixture {
  struct Batch {
    std::vector<Trajectory> trajectories;
    std::vector<std::vector<double>> normalized;
    double count = 0, mean = 0, variance = 0;
  };
  Fixture() {
    std::ifstream file(SourceFile("tests/fixtures/gymnasium_rewards.txt"));
    std::string word;
    while (file >> word) {
      if (word == "#") std::getline(file, word);
      if (word == "settings") file >> gamma >> scale >> clip;
      if (word == "batch") batches.emplace_back();
      if (word == "trajectory") ReadTrajectory(file, &batches.back());
      if (word == "statistics")
        file >> batches.back().count >> batches.back().mean >> batches.back().variance;
    }
  }
  static void ReadTrajectory(std::ifstream& file, Batch* batch) {
    Trajectory& trajectory = batch->trajectories.emplace_back();
    std::vector<double>& normalized = batch->normalized.emplace_back();
    int steps = 0;
    file >> trajectory.agent >> trajectory.first_step >> steps;
    for (int i = 0; i < steps; ++i) {
      double reward = 0, expected = 0;
      std::string word;
      file >> reward >> word >> expected;
      trajectory.reward.push_back(static_cast<float>(reward));
      trajectory.flags.push_back(FlagsOf(word));
      normalized.push_back(expected);
    }
  }
  double gamma = 0, scale = 0, clip = 0;
  std::vector<Batch> batches;
};

TEST(RewardScale, NormalizesAsGymnasiumDoes) {
  const Fixture fixture;
  ASSERT_EQ(fixture.batches.size(), 4u);
  AlgorithmSettings settings = Settings(fixture.gamma, 4);
  settings.reward_scale = fixture.scale;
  settings.reward_clip = fixture.clip;
  RewardScale scale(settings);
  for (const Fixture::Batch& expected : fixture.batches) {
    TrainingBatch batch = BatchOf(expected.trajectories, 4);
    scale.Apply(batch);
    EXPECT_EQ(scale.statistics().count, expected.count);
    EXPECT_NEAR(scale.statistics().mean, expected.mean, 1e-9);
    EXPECT_NEAR(scale.statistics().variance(), expected.variance, 1e-9);
    for (std::size_t place = 0; place < expected.normalized.size(); ++place) {
      const std::vector<float> rewards = Rewards(batch, static_cast<int>(place));
      ASSERT_EQ(rewards.size(), expected.normalized[place].size());
      for (std::size_t i = 0; i < rewards.size(); ++i)
        EXPECT_NEAR(rewards[i], expected.normalized[place][i], 1e-6) << place << ' ' << i;
    }
  }
}

TEST(RewardScale, TheOrderOfArrivalChangesNoBit) {
  const Fixture fixture;
  RewardScale one(Settings(0.9, 4)), other(Settings(0.9, 4));
  for (const Fixture::Batch& expected : fixture.batches) {
    std::vector<Trajectory> trajectories = expected.trajectories;
    TrainingBatch batch = BatchOf(trajectories, 4);
    one.Apply(batch);
    std::rotate(trajectories.begin(), trajectories.begin() + 1, trajectories.end());
    TrainingBatch rotated = BatchOf(trajectories, 4);
    other.Apply(rotated);
    EXPECT_EQ(Rewards(batch, 1), Rewards(rotated, 0));
  }
  EXPECT_EQ(one.statistics().mean, other.statistics().mean);
  EXPECT_EQ(one.statistics().m2, other.statistics().m2);
}

}  // namespace
}  // namespace murmurate
