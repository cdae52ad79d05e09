#include "server/learn/learner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "server/learn/algorithms.h"
#include "server/learn/reward_scale.h"
#include "server/network/action_head_rows.h"
#include "server/network/actor_critic.h"
#include "shared/inference/policy.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/policy_and_value.h"
#include "tests/allocations.h"
#include "tests/learn/example_batches.h"

namespace murmurate {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(LearnerTest, TheFirstVersionIsOneAndEachBatchMakesTheNext) {
  Learner learner(ExampleSpec(), ExamplePpo(), 1);
  EXPECT_EQ(learner.version(), 1u);
  EXPECT_EQ(learner.MakeSnapshot()->version, 1u);
  TrainingBatch batch = FullBatch(1, 1, 1, 1);
  const LearnReport report = learner.Learn(batch, 32);
  EXPECT_EQ(report.version, 2u);
  EXPECT_EQ(learner.version(), 2u);
  EXPECT_EQ(report.trained_steps, 32u);
  EXPECT_EQ(report.updates, 12u);  // 32 rows in four minibatches of eight, three epochs
  EXPECT_EQ(report.episodes.size(), 8u);
  EXPECT_GT(report.grad_norm, 0.0);
  EXPECT_GT(report.entropy, 0.0);
}

TEST(LearnerTest, BeginsAsItIsTold) {
  const ParameterLayout layout(ExampleSpec());
  std::vector<float> drawn(layout.total);
  InitializeParameters(ExampleSpec(), DeriveSeed(1, 0), drawn, Initializer::kHe);
  Learner learner(ExampleSpec(), ExamplePpo(), 1, Initializer::kHe);
  EXPECT_EQ(ParametersOf(learner), drawn);

  const std::vector<float> bias = {0.25f, -0.5f};
  const std::size_t place = layout.Find("policy.head.bias").offset;
  WeightsMatch match;
  match.taken = {{place, bias}};
  learner.BeginWith(match);
  std::copy(bias.begin(), bias.end(), drawn.begin() + static_cast<std::ptrdiff_t>(place));
  EXPECT_EQ(ParametersOf(learner), drawn);
  EXPECT_EQ(learner.version(), 1u);
}

TEST(LearnerTest, ASnapshotNeverChanges) {
  Learner learner(ExampleSpec(), ExamplePpo(), 1);
  const auto before = learner.MakeSnapshot();
  const std::vector<float> copy(before->parameters.begin(), before->parameters.end());
  TrainingBatch batch = FullBatch(1, 1, 1, 1);
  (void)learner.Learn(batch, 32);
  EXPECT_TRUE(std::equal(copy.begin(), copy.end(), before->parameters.begin()));
  EXPECT_NE(copy, ParametersOf(learner));
}

TEST(LearnerTest, TheSameSeedGivesTheSameBits) {
  const auto train = [](std::uint64_t seed) {
    Learner learner(ExampleSpec(true), ExamplePpo(), seed);
    for (int i = 0; i < 3; ++i) {
      TrainingBatch batch = FullBatch(1, 1, 1, 1);
      (void)learner.Learn(batch, 32);
    }
    return ParametersOf(learner);
  };
  EXPECT_EQ(train(4), train(4));
  EXPECT_NE(train(4), train(5));
}

TEST(LearnerTest, SeveralThreadsLearnTheSameAndAlwaysTheSameBits) {
  const auto train = [](int threads) {
    AlgorithmSettings settings = ExamplePpo();
    settings.threads = threads;
    Learner learner(ExampleSpec(true), settings, 4);
    for (int i = 0; i < 2; ++i) {
      TrainingBatch batch = FullBatch(1, 1, 1, 1);
      (void)learner.Learn(batch, 32);
    }
    return ParametersOf(learner);
  };
  const std::vector<float> one = train(1), three = train(3);
  EXPECT_EQ(three, train(3));
  EXPECT_NE(three, one) << "sums in another order";
  EXPECT_THAT(three, testing::Pointwise(testing::FloatNear(1e-4f), one));
}

TEST(LearnerTest, TheOrderOfArrivalDoesNotMatter) {
  const auto train = [](const std::vector<ExampleTrajectory>& arrived, bool sort) {
    Learner learner(ExampleSpec(true), ExamplePpo(), 3);
    for (int i = 0; i < 2; ++i) {
      TrainingBatch batch = MakeBatch(arrived);
      if (sort) batch.Sort();
      (void)learner.Learn(batch, 32);
    }
    return ParametersOf(learner);
  };
  const ExampleTrajectory a(0, 1, 8), b(1, 1, 7), c(2, 0, 3), d(3, 1, 8);
  const std::vector<float> expected = train({a, b, c, d}, false);
  EXPECT_EQ(train({d, b, c, a}, true), expected);
  EXPECT_EQ(train({d, b, c, a}, false), expected);
  EXPECT_EQ(train({c, a, d, b}, false), expected);
}

void Spoil(TrainingBatch* batch, std::size_t row) {
  std::fill_n(batch->observation.data() + 3 * row, 3, kNan);
  batch->log_prob[row] = batch->reward[row] = kNan;
  batch->action[row] = 1'000'000;
  batch->flags[row] = 0xff;
}

TEST(LearnerTest, PaddingHasNoInfluence) {
  Learner clean(ExampleSpec(true), ExamplePpo(), 3), spoiled(ExampleSpec(true), ExamplePpo(), 3);
  for (int i = 0; i < 2; ++i) {
    TrainingBatch batch = MakeBatch({{0, 1, 8}, {1, 1, 5}, {2, 1, 1}});
    (void)clean.Learn(batch, 32);
    batch = MakeBatch({{0, 1, 8}, {1, 1, 5}, {2, 1, 1}});
    for (int row = 0; row < batch.rows(); ++row) {
      if (batch.weight[row] == 0.0f) Spoil(&batch, row);
    }
    const LearnReport report = spoiled.Learn(batch, 32);
    EXPECT_EQ(report.trained_steps, 14u);
    EXPECT_TRUE(std::isfinite(report.value_loss));
  }
  EXPECT_EQ(ParametersOf(clean), ParametersOf(spoiled));
  EXPECT_THAT(ParametersOf(spoiled), testing::Each(testing::Not(testing::IsNan())));
}

TEST(LearnerTest, ABatchOfAnotherShapeIsLearnedFromAsByALearnerMadeForIt) {
  const BatchShape shape{4, 20};
  const AlgorithmSettings settings = WithShape(ExamplePpo(), shape, false);
  EXPECT_EQ(settings.batch_steps, 80);
  EXPECT_EQ(settings.minibatch, 25) << "the same part of a batch";
  Learner fitted(ExampleSpec(), ExamplePpo(), 1), made(ExampleSpec(), settings, 1);
  for (int round = 0; round < 2; ++round) {
    for (Learner* learner : {&fitted, &made}) {
      TrainingBatch batch(TrajectoryLayout(ExampleSpec(), shape.length), shape.trajectories);
      for (std::uint32_t agent = 0; !batch.full(); ++agent)
        batch.Add(ExampleTrajectory(agent, learner->version(), 4).view());
      EXPECT_EQ(learner->Learn(batch, 80).updates, 12u);
    }
    EXPECT_EQ(ParametersOf(fitted), ParametersOf(made));
  }
}

TEST(LearnerTest, MinibatchesStayTheSamePartOfABatch) {
  AlgorithmSettings settings;  // 128, 2048, 256
  EXPECT_EQ(WithShape(settings, {128, 4}, false).minibatch, 64);
  EXPECT_EQ(WithShape(settings, {128, 1}, false).minibatch, 32);
  EXPECT_EQ(WithShape(settings, {8, 1024}, false).minibatch, 1024);
  EXPECT_EQ(WithShape(settings, {4, 8192}, false).minibatch, 2048) << "no larger";
  settings.minibatch = 2048;
  EXPECT_EQ(WithShape(settings, {128, 4}, false).minibatch, 512) << "one step of a batch stays one";
  EXPECT_EQ(WithShape(settings, {8, 1024}, false).minibatch, 8192);
}

TEST(LearnerTest, AlgorithmsOfOnePassMakeMoreStepsOfALargerBatch) {
  for (const char* name : {"impala", "a2c"}) {
    AlgorithmSettings settings;
    settings.kind = AlgorithmNamed(name);
    settings.trajectory_length = 32;
    settings.batch_steps = 1024;
    settings.minibatch = 128;
    EXPECT_EQ(WithShape(settings, {8, 1024}, false).minibatch, 128) << name;
    EXPECT_EQ(WithShape(settings, {32, 2}, false).minibatch, 64) << name;
  }
}

TEST(LearnerTest, TrajectoriesOverTheLimitAreDroppedAndCounted) {
  Learner learner(ExampleSpec(), ExamplePpo(), 3), fresh_only(ExampleSpec(), ExamplePpo(), 3);
  for (int i = 0; i < 3; ++i) {
    TrainingBatch batch = FullBatch(i + 1, i + 1, i + 1, i + 1);
    (void)learner.Learn(batch, 32);
    batch = FullBatch(i + 1, i + 1, i + 1, i + 1);
    (void)fresh_only.Learn(batch, 32);
  }
  ASSERT_EQ(learner.version(), 4u);
  TrainingBatch batch = FullBatch(4, 1, 2, 0);  // limit 2: versions 1 and 0 are too old
  const LearnReport report = learner.Learn(batch, 160);
  EXPECT_EQ(report.stale_trajectories, 2u);
  EXPECT_EQ(report.late_steps, 16u) << "eight each";
  EXPECT_EQ(report.trained_steps, 16u);
  EXPECT_EQ(report.staleness_min, 0.0);
  EXPECT_EQ(report.staleness_max, 4.0);
  EXPECT_DOUBLE_EQ(report.staleness_mean, (0.0 + 3.0 + 2.0 + 4.0) / 4.0);
  EXPECT_EQ(report.episodes.size(), 8u) << "their episodes still count";
  TrainingBatch rest = MakeBatch({{0, 4, 8}, {2, 2, 8}});
  (void)fresh_only.Learn(rest, 160);
  EXPECT_EQ(ParametersOf(learner), ParametersOf(fresh_only));
}

TEST(LearnerTest, OfATrajectoryOfSeveralVersionsOnlyStepsOverTheLimitAreDropped) {
  Learner learner(ExampleSpec(), ExamplePpo(), 3), cut_short(ExampleSpec(), ExamplePpo(), 3);
  for (int i = 0; i < 5; ++i) {
    TrainingBatch batch = FullBatch(i + 1, i + 1, i + 1, i + 1);
    (void)learner.Learn(batch, 32);
    batch = FullBatch(i + 1, i + 1, i + 1, i + 1);
    (void)cut_short.Learn(batch, 32);
  }
  ASSERT_EQ(learner.version(), 6u);
  TrainingBatch batch = MakeBatch({{0, 1, 8}, {1, 6, 8}});
  ASSERT_TRUE(batch.trajectories[0].changes.Add(2, 2));  // version 3 is too old too, at limit 2
  ASSERT_TRUE(batch.trajectories[0].changes.Add(3, 4));
  const LearnReport report = learner.Learn(batch, 160);
  EXPECT_EQ(report.stale_trajectories, 0u);
  EXPECT_EQ(report.late_steps, 3u);
  EXPECT_EQ(report.trained_steps, 13u);
  EXPECT_EQ(report.staleness_min, 0.0);
  EXPECT_EQ(report.staleness_max, 5.0);
  EXPECT_DOUBLE_EQ(report.staleness_mean, ((2 * 5 + 1 * 3 + 5 * 1) / 8.0 + 0) / 2);
  TrainingBatch same = MakeBatch({{0, 6, 8}, {1, 6, 8}});
  std::ranges::fill(same.weight.subspan(0, 3), 0.0f);
  (void)cut_short.Learn(same, 160);
  EXPECT_EQ(ParametersOf(learner), ParametersOf(cut_short));
}

TEST(LearnerTest, ABatchWithNoWeightMakesAVersionButNoUpdate) {
  AlgorithmSettings settings = ExamplePpo();
  settings.max_staleness = 0;
  Learner learner(ExampleSpec(true), settings, 3);
  const std::vector<float> before = ParametersOf(learner);
  TrainingBatch batch = FullBatch(0, 0, 0, 0);
  const LearnReport report = learner.Learn(batch, 32);
  EXPECT_EQ(report.updates, 0u);
  EXPECT_EQ(report.trained_steps, 0u);
  EXPECT_EQ(report.stale_trajectories, 4u);
  EXPECT_EQ(report.version, 2u);
  EXPECT_EQ(ParametersOf(learner), before);
}

TEST(LearnerTest, StepsThatAreBurnedInAreNotTrainedOn) {
  PolicyAndValue spec = ExampleSpec();
  spec.trunk = {*Layer::Parse("gru 4")};
  spec.separate_value = false;
  AlgorithmSettings settings = ExamplePpo();
  settings.burn_in = 3;
  Learner learner(spec, settings, 3);
  TrainingBatch batch(TrajectoryLayout(spec, settings.trajectory_length), 4);
  const std::vector<float> state(4, 0.0f);
  for (const int steps : {8, 5, 3, 1}) {
    const ExampleTrajectory trajectory(static_cast<std::uint32_t>(steps), 1, steps);
    TrajectoryView view = trajectory.view();
    view.state0 = state;
    ASSERT_TRUE(batch.Add(view));
  }
  const LearnReport report = learner.Learn(batch, 32);
  EXPECT_EQ(report.trained_steps, 7u) << "(8 - 3) + (5 - 3)";
  EXPECT_EQ(report.updates, 6u) << "two trajectories, one at a time, three epochs";
}

TEST(LearnerTest, AVersionThatWasNeverMadeIsDropped) {
  Learner learner(ExampleSpec(), ExamplePpo(), 3);
  TrainingBatch batch = FullBatch(1, 1'000'000, 1, 1);
  const LearnReport report = learner.Learn(batch, 32);
  EXPECT_EQ(report.stale_trajectories, 1u);
  EXPECT_EQ(report.trained_steps, 24u);
  EXPECT_EQ(report.staleness_max, 0.0);
}

TEST(LearnerTest, LearnsFromScaledRewardsAndReportsRawReturns) {
  const auto train = [](double scale, float times) {
    AlgorithmSettings settings = ExamplePpo();
    settings.reward_scale = scale;
    Learner learner(ExampleSpec(), settings, 3);
    TrainingBatch batch = FullBatch(1, 1, 1, 1);
    for (float& reward : batch.reward) reward *= times;
    const LearnReport report = learner.Learn(batch, 32);
    EXPECT_EQ(report.episodes.at(0).raw_return, 3.0);
    EXPECT_EQ(learner.reward_statistics().count, 0.0);
    return ParametersOf(learner);
  };
  EXPECT_EQ(train(0.25, 4.0f), train(1.0, 1.0f));
  EXPECT_NE(train(0.25, 1.0f), train(1.0, 1.0f));
}

TEST(LearnerTest, TheStatisticsOfRewardsCountWhatIsLearnedFrom) {
  AlgorithmSettings settings = ExamplePpo();
  settings.normalize_reward = true;
  settings.max_staleness = 0;
  Learner learner(ExampleSpec(), settings, 3);
  TrainingBatch batch = FullBatch(1, 1, 0, 1);
  (void)learner.Learn(batch, 32);
  EXPECT_EQ(learner.reward_statistics().count, 24.0);
}

TEST(LearnerTest, AnAbsurdRewardNeverMakesTheModelNan) {
  Learner learner(ExampleSpec(), ExamplePpo(), 3);
  TrainingBatch batch = FullBatch(1, 1, 1, 1);
  batch.reward[1] = 3e38f;
  const LearnReport report = learner.Learn(batch, 32);
  EXPECT_THAT(ParametersOf(learner), testing::Each(testing::Not(testing::IsNan())));
  EXPECT_EQ(report.updates + report.skipped_updates, 12u);
}

TEST(LearnerTest, SchedulesReadTheStepsLearnedFrom) {
  AlgorithmSettings settings = ExamplePpo();
  settings.learning_rate.from = 1e-2;
  settings.learning_rate.to = 0.0;
  settings.learning_rate.steps = 1000;
  settings.clip.from = 0.3;
  settings.clip.to = 0.1;
  settings.clip.steps = 1000;
  Learner learner(ExampleSpec(), settings, 3);
  TrainingBatch batch = FullBatch(1, 1, 1, 1);
  LearnReport report = learner.Learn(batch, 500);
  EXPECT_NEAR(report.learning_rate, 5e-3, 1e-12);
  EXPECT_NEAR(report.clip_range, 0.2, 1e-7);
  const std::vector<float> before = ParametersOf(learner);
  batch = FullBatch(2, 2, 2, 2);
  report = learner.Learn(batch, 1000);
  EXPECT_EQ(report.learning_rate, 0.0);
  EXPECT_EQ(ParametersOf(learner), before);
}

TEST(LearnerTest, TargetKlEndsTheBatchEarly) {
  AlgorithmSettings settings = ExamplePpo();
  settings.epochs = 20;
  settings.learning_rate = 0.05;
  settings.target_kl = 1e9;
  Learner patient(ExampleSpec(), settings, 3);
  settings.target_kl = 1e-3;
  Learner careful(ExampleSpec(), settings, 3);
  TrainingBatch batch = FullBatch(1, 1, 1, 1);
  EXPECT_EQ(patient.Learn(batch, 32).updates, 80u);
  batch = FullBatch(1, 1, 1, 1);
  EXPECT_LT(careful.Learn(batch, 32).updates, 80u);
}

TEST(LearnerTest, TargetKlShortensTheOnlyStepOfABatch) {
  AlgorithmSettings settings = ExamplePpo();
  settings.kind = AlgorithmNamed("impala");
  settings.epochs = 1;
  settings.minibatch = settings.batch_steps;
  const auto change_of = [&](double target_kl) {
    settings.target_kl = target_kl;
    Learner learner(ExampleSpec(), settings, 3);
    TrainingBatch batch = FullBatch(1, 1, 1, 1);
    (void)learner.Learn(batch, 0);
    TrainingBatch again = FullBatch(2, 2, 2, 2);
    return learner.Learn(again, 0).approx_kl;
  };
  EXPECT_EQ(change_of(0.0), 0.0) << "not measured";
  const double whole = change_of(1e9);
  EXPECT_GT(whole, 1e-5);
  // The next step, from where a shorter one ended, is as long before it is shortened.
  Learner free(ExampleSpec(), settings, 3);
  settings.target_kl = whole / 100;
  Learner limited(ExampleSpec(), settings, 3);
  const std::vector<float> first = ParametersOf(free);
  TrainingBatch batch = FullBatch(1, 1, 1, 1);
  const double kl = free.Learn(batch, 0).approx_kl;
  batch = FullBatch(1, 1, 1, 1);
  EXPECT_EQ(limited.Learn(batch, 0).approx_kl, kl);
  const std::vector<float> far = ParametersOf(free), near = ParametersOf(limited);
  const float part = static_cast<float>(std::sqrt(1.5 * settings.target_kl / kl));
  ASSERT_LT(part, 0.5f);
  for (std::size_t i = 0; i < first.size(); ++i)
    EXPECT_NEAR(near[i], first[i] + part * (far[i] - first[i]), 1e-7);
}

/// As if it had been made with the earlier parameters: Adam's first step is as long as the rate.
TEST(LearnerTest, TheRateFollowsTheDistanceThatIsWanted) {
  const auto rate_after = [](double wanted, int batches) {
    AlgorithmSettings settings = ExamplePpo();
    settings.adaptive_kl = wanted;
    Learner learner(ExampleSpec(), settings, 1);
    double rate = 0;
    for (int i = 0; i < batches; ++i) {
      TrainingBatch batch =
          FullBatch(learner.version(), learner.version(), learner.version(), learner.version());
      rate = learner.Learn(batch, 32).learning_rate;
    }
    return rate;
  };
  EXPECT_EQ(rate_after(0, 4), 1e-2);
  EXPECT_EQ(rate_after(1e3, 1), 1e-2) << "the first batch has the rate of the config";
  EXPECT_NEAR(rate_after(1e3, 3), 1e-2 * 1.5 * 1.5, 1e-9);
  EXPECT_NEAR(rate_after(1e3, 9), 1e-2 * 10 / 3, 1e-9) << "within limits";
  EXPECT_NEAR(rate_after(1e-9, 9), 1e-2 / 30, 1e-9) << "within limits";
}

TEST(LearnerTest, ARateThatIsSetWhileItRunsStays) {
  AlgorithmSettings settings = ExamplePpo();
  settings.adaptive_kl = 1e3;
  Learner learner(ExampleSpec(), settings, 1);
  const auto rate = [&] {
    TrainingBatch batch =
        FullBatch(learner.version(), learner.version(), learner.version(), learner.version());
    return learner.Learn(batch, 32).learning_rate;
  };
  (void)rate();
  Rates rates = learner.rates();
  learner.SetRates(rates);
  EXPECT_NEAR(rate(), 1.5e-2, 1e-9) << "nothing was set";
  rates.learning_rate = 1e-3;
  learner.SetRates(rates);
  EXPECT_EQ(rate(), 1e-3);
  EXPECT_EQ(rate(), 1e-3);
}

TEST(LearnerTest, ARateThatFollowsGoesOnWhereItWas) {
  AlgorithmSettings settings = ExamplePpo();
  settings.adaptive_kl = 1e3;
  Learner first(ExampleSpec(), settings, 1), second(ExampleSpec(), settings, 1);
  TrainingBatch batch = FullBatch(1, 1, 1, 1);
  (void)first.Learn(batch, 32);
  SavedState state;
  first.Save(&state);
  ASSERT_TRUE(second.Load(2, 32, ParametersOf(first), state).ok());
  TrainingBatch next = FullBatch(2, 2, 2, 2);
  EXPECT_NEAR(second.Learn(next, 64).learning_rate, 1.5e-2, 1e-9);
}

TEST(LearnerTest, GoingBackIsANewBeginningFromEarlierParameters) {
  AlgorithmSettings settings = ExamplePpo();
  settings.epochs = 1;
  settings.minibatch = 32;
  Learner learner(ExampleSpec(), settings, 3), fresh(ExampleSpec(), settings, 3);
  const std::vector<float> first = ParametersOf(learner);
  TrainingBatch batch = FullBatch(1, 1, 1, 1);
  (void)learner.Learn(batch, 0);
  batch = FullBatch(2, 2, 2, 2);
  (void)learner.Learn(batch, 0);
  ASSERT_NE(ParametersOf(learner), first);
  ASSERT_TRUE(learner.GoBack(first));
  EXPECT_EQ(ParametersOf(learner), first);
  EXPECT_EQ(learner.version(), 3u) << "versions count on";
  batch = FullBatch(3, 3, 3, 3);
  (void)learner.Learn(batch, 0);
  batch = FullBatch(1, 1, 1, 1);
  (void)fresh.Learn(batch, 0);
  EXPECT_EQ(ParametersOf(learner), ParametersOf(fresh));
}

TEST(LearnerTest, LatenessIsNoChangeOfThePolicy) {
  AlgorithmSettings settings = ExamplePpo();
  settings.epochs = 2;
  settings.target_kl = 1e-3;
  settings.learning_rate = 1e-9;
  Learner learner(ExampleSpec(), settings, 3);
  TrainingBatch batch = FullBatch(1, 1, 1, 1), late = FullBatch(1, 1, 1, 1);
  const LearnReport fresh = learner.Learn(batch, 32);
  // Every log pi / mu is smaller by 0.5 than it was.
  for (float& x : late.log_prob) x += 0.5f;
  const LearnReport report = learner.Learn(late, 32);
  EXPECT_EQ(report.updates, 8u) << "a batch that is late was given up for its lateness";
  EXPECT_LT(report.approx_kl, 1e-6);
  EXPECT_GT(report.lag_kl, 0.01);
  EXPECT_NE(report.lag_kl, fresh.lag_kl);
}

TEST(LearnerTest, TheDropPolicyTakesValuesAsIfFresh) {
  const auto train = [](StalenessPolicy policy, float shift) {
    AlgorithmSettings settings = ExamplePpo();
    settings.staleness = policy;
    settings.max_grad_norm = 0.0;
    settings.epochs = 1;
    settings.minibatch = 32;
    Learner learner(ExampleSpec(), settings, 3);
    TrainingBatch batch = FullBatch(1, 1, 1, 1);
    for (float& x : batch.log_prob) x += shift;
    return learner.Learn(batch, 32).value_loss;
  };
  EXPECT_EQ(train(StalenessPolicy::kDrop, 0.0f), train(StalenessPolicy::kDrop, 3.0f));
  EXPECT_NE(train(StalenessPolicy::kVtrace, 0.0f), train(StalenessPolicy::kVtrace, 3.0f));
}

TEST(LearnerTest, NothingIsAllocatedWhileItLearns) {
  AlgorithmSettings several = ExamplePpo();
  several.normalize_reward = true;
  several.threads = 2;
  AlgorithmSettings one_pass = several;
  one_pass.kind = AlgorithmNamed("impala");
  one_pass.optimizer = OptimizerSettings::Name::kRmsProp;
  one_pass.minibatch = one_pass.batch_steps;
  one_pass.epochs = 1;
  for (const AlgorithmSettings& settings : {several, one_pass}) {
    Learner learner(ExampleSpec(), settings, 3);
    TrainingBatch batch = FullBatch(1, 1, 1, 1);
    (void)learner.Learn(batch, 32);
    for (const bool with_episodes : {true, false}) {
      batch = FullBatch(2, 2, 2, 2);
      if (!with_episodes) batch.episodes.clear();
      const std::uint64_t before = AllocationsOfAllThreads();
      (void)learner.Learn(batch, 64);
      EXPECT_EQ(AllocationsOfAllThreads() - before, with_episodes ? 1u : 0u)
          << "the report's episodes, nothing else";
    }
  }
}

// Statistics change once per batch, after its updates, and travel with the version.
TEST(LearnerTest, FreshExperienceHasTheRatioOne) {
  for (const bool normalize : {false, true}) {
    const PolicyAndValue spec = ExampleSpec(normalize);
    Learner learner(spec, ExamplePpo(), 3);
    for (int i = 0; i < 3; ++i) {
      TrainingBatch batch = FullBatch(i + 1, i + 1, i + 1, i + 1);
      (void)learner.Learn(batch, 32);
    }
    const auto snapshot = learner.MakeSnapshot();
    const ParameterLayout layout(spec);
    const auto part = [&](const SectionRange& range) {
      return std::span<const float>(snapshot->parameters).subspan(range.offset, range.count);
    };
    Policy policy(spec);
    policy.Pack(part(layout.published), part(layout.statistics));
    ActorCritic network(spec, 32);
    const TrainingBatch batch = FullBatch(4, 4, 4, 4);
    std::vector<float> logits(64), values(32), log_prob(32), scratch(policy.ScratchFloats(1));
    std::vector<std::int32_t> actions(32);
    std::vector<float> played(32);
    Random random(9);
    for (int row = 0; row < 32; ++row) {
      std::array<float, 2> one;
      policy.Forward(batch.observation.data() + 3 * row, 1, one.data(), scratch.data());
      const ActionChoice choice = ChooseAction(one, ActSettings{}, random);
      actions[row] = choice.action;
      played[row] = choice.log_prob;
    }
    network.Forward(snapshot->parameters, batch.observation.data(), 32, logits.data(),
                    values.data());
    const ActionRows rows{32, logits.data(), nullptr, actions.data(), nullptr};
    ActionHeadRows(ActionLayout(Discrete(2))).Evaluate(rows, log_prob.data(), nullptr);
    for (int row = 0; row < 32; ++row) {
      EXPECT_NEAR(std::exp(log_prob[row] - played[row]), 1.0, 1e-5) << row << " " << normalize;
    }
  }
}

}  // namespace
}  // namespace murmurate
