// supervised and bc: what was done is what is right.
#include <gtest/gtest.h>

#include <bit>

#include "server/learn/algorithms.h"
#include "server/learn/learn_loop.h"
#include "shared/model/policy_and_value.h"
#include "tests/allocations.h"
#include "tests/learn/example_batches.h"

namespace murmurate {
namespace {

using Samples = TrainingBatch::Samples;

AlgorithmSettings Labels(const AlgorithmKind* kind = AlgorithmNamed("supervised")) {
  AlgorithmSettings settings = ExamplePpo();
  settings.kind = kind;
  return settings;
}

/// Label 1 where the first number is above the second.
TrainingBatch Separable(std::uint32_t seed, std::uint64_t version = 1) {
  std::vector<ExampleTrajectory> trajectories;
  for (std::uint32_t agent = 0; agent < 4; ++agent) {
    ExampleTrajectory trajectory(4 * seed + agent, version, 8);
    for (std::size_t i = 0; i < 8; ++i)
      trajectory.action[i] = trajectory.observation[3 * i] > trajectory.observation[3 * i + 1];
    trajectories.push_back(std::move(trajectory));
  }
  return MakeBatch(trajectories);
}

PolicyAndValue OneTrunk() {
  PolicyAndValue spec = ExampleSpec();
  spec.separate_value = false;
  return spec;
}

TEST(LabelsTest, ALearnerComesToKnowTheLabels) {
  for (const AlgorithmKind* kind : {AlgorithmNamed("supervised"), AlgorithmNamed("bc")}) {
    Learner learner(OneTrunk(), Labels(kind), 5);
    LearnReport report;
    for (std::uint32_t i = 0; i < 60; ++i) {
      TrainingBatch batch = Separable(i);
      report = learner.Learn(batch, 0);
    }
    EXPECT_GT(report.accuracy, 0.9);
    EXPECT_GT(report.eval_accuracy, 0.85);
    EXPECT_LT(report.loss, 0.4);
    EXPECT_TRUE(std::isnan(report.error));  // there are no numbers
    TrainingBatch other = Separable(1000);
    other.samples = Samples::kHeldOut;
    EXPECT_GT(learner.Learn(other, 0).eval_accuracy, 0.85);
  }
}

// What actors send is scored before it is learned from: the first pass alone, which begins with
// logits of about 0, while the last one knows these rows.
TEST(LabelsTest, TheFirstPassOverNewRowsIsTheirScore) {
  AlgorithmSettings settings = Labels();
  settings.epochs = 40;
  settings.minibatch = 32;
  Learner learner(OneTrunk(), settings, 5);
  TrainingBatch batch = Separable(0);
  const LearnReport report = learner.Learn(batch, 0);
  EXPECT_NEAR(report.eval_loss, std::log(2.0), 0.01);
  EXPECT_DOUBLE_EQ(report.eval_rows, 32.0);
  EXPECT_LT(report.loss, 0.6);
  batch.samples = Samples::kRead;  // perhaps learned from before: no score
  EXPECT_EQ(learner.Learn(batch, 0).eval_rows, 0.0);
}

TEST(LabelsTest, AHeldOutBatchIsScoredAndChangesNothing) {
  Learner learner(OneTrunk(), Labels(), 5);
  const std::vector<float> before = ParametersOf(learner);
  TrainingBatch batch = Separable(0);
  batch.samples = Samples::kHeldOut;
  const LearnReport report = learner.Learn(batch, 0);
  EXPECT_EQ(ParametersOf(learner), before);
  EXPECT_EQ(learner.version(), 1u);
  EXPECT_TRUE(report.held_out);
  EXPECT_EQ(report.trained_steps, 0u);
  EXPECT_DOUBLE_EQ(report.eval_rows, 32.0);
  EXPECT_NEAR(report.eval_loss, std::log(2.0), 0.01);
}

TEST(LabelsTest, AHeldOutBatchIsNotSaidToBegin) {
  const auto channel = std::make_shared<ExperienceChannel>(ExampleSpec(), 8, 4);
  int begun = 0, reported = 0;
  LearnCallbacks callbacks;
  callbacks.on_batch = [&] { ++begun; };
  callbacks.on_report = [&](const LearnReport&) { ++reported; };
  callbacks.on_snapshot = [](std::shared_ptr<const Snapshot>) {};
  LearnLoop loop(channel, std::make_unique<Learner>(OneTrunk(), Labels(), 5), std::move(callbacks));
  for (const auto samples : {Samples::kRead, Samples::kHeldOut}) {
    auto batch = *channel->empty.TryPop();
    *batch = Separable(0);
    batch->samples = samples;
    ASSERT_TRUE(channel->ready.TryPush(std::move(batch)));
    EXPECT_TRUE(loop.PollOnce(std::chrono::milliseconds(0)));
  }
  EXPECT_EQ(reported, 2);
  EXPECT_EQ(begun, 1);
}

// Where a run that was stopped scores its held-out rows again, nothing after them may move.
TEST(LabelsTest, WhatIsLearnedAfterAScoreIsWhatWouldHaveBeenLearnedWithoutIt) {
  Learner plain(OneTrunk(), Labels(), 5), scoring(OneTrunk(), Labels(), 5);
  for (std::uint32_t i = 0; i < 3; ++i) {
    TrainingBatch first = Separable(i), second = Separable(i), held_out = Separable(100 + i);
    held_out.samples = Samples::kHeldOut;
    (void)scoring.Learn(held_out, 0);
    (void)plain.Learn(first, 0);
    (void)scoring.Learn(second, 0);
    EXPECT_EQ(ParametersOf(scoring), ParametersOf(plain));
  }
}

TEST(LabelsTest, NoVersionIsTooOldAndNoneTooNew) {
  Learner learner(OneTrunk(), Labels(AlgorithmNamed("bc")), 5);
  for (const std::uint64_t version : {0, 1, 99}) {
    TrainingBatch batch = Separable(0, version);
    const LearnReport report = learner.Learn(batch, 0);
    EXPECT_EQ(report.stale_trajectories, 0u);
    EXPECT_EQ(report.trained_steps, 32u);
  }
}

// Rewards, returns and log-probabilities of whoever played are not looked at.
TEST(LabelsTest, OnlyObservationsAndActionsMatter) {
  const auto learned = [](float reward, float log_prob) {
    Learner learner(OneTrunk(), Labels(AlgorithmNamed("bc")), 5);
    TrainingBatch batch = Separable(3);
    std::fill(batch.reward.begin(), batch.reward.end(), reward);
    std::fill(batch.log_prob.begin(), batch.log_prob.end(), log_prob);
    (void)learner.Learn(batch, 0);
    return ParametersOf(learner);
  };
  EXPECT_EQ(learned(0, -0.1f), learned(1e6f, -7.0f));
}

/// The loss of the parameters, as a held-out batch is scored.
double ScoreOf(PlannedAlgorithm& algorithm, std::span<const float> parameters,
               TrainingBatch& batch) {
  batch.samples = Samples::kHeldOut;
  algorithm.Prepare(parameters, batch);
  algorithm.Score(parameters);
  return algorithm.Report().eval_loss;
}

TEST(LabelsTest, TheGradientIsTheFiniteDifferenceOfTheScore) {
  for (const AlgorithmKind* kind : {AlgorithmNamed("supervised"), AlgorithmNamed("bc")}) {
    PolicyAndValue spec = OneTrunk();
    spec.spaces.action = Dict({{"pick", Discrete(3)}, {"turn", Box({2})}});
    AlgorithmSettings settings = Labels(kind);
    settings.minibatch = 32;
    PlannedAlgorithm algorithm(spec, settings, 1);
    std::vector<float> parameters(algorithm.layout().total);
    InitializeParameters(spec, 3, parameters, Initializer::kXavier);
    TrainingBatch batch(TrajectoryLayout(spec, settings.trajectory_length), 4);
    std::vector<std::int32_t> words;
    for (std::uint32_t agent = 0; agent < 4; ++agent) {
      ExampleTrajectory trajectory(agent, 1, 8);
      words.clear();
      for (int i = 0; i < 8; ++i)
        words.insert(words.end(), {i % 3, std::bit_cast<std::int32_t>(0.1f * i),
                                   std::bit_cast<std::int32_t>(-0.2f * i)});
      TrajectoryView view = trajectory.view();
      view.action = words;
      ASSERT_TRUE(batch.Add(view));
    }
    std::vector<float> gradient(algorithm.layout().trained_count());
    algorithm.Prepare(parameters, batch);
    ASSERT_TRUE(algorithm.NextGradient(parameters, gradient));
    for (std::size_t i = 0; i < gradient.size(); i += 3) {
      const float kept = parameters[i], step = 1e-2f;
      parameters[i] = kept + step;
      const double above = ScoreOf(algorithm, parameters, batch);
      parameters[i] = kept - step;
      const double below = ScoreOf(algorithm, parameters, batch);
      parameters[i] = kept;
      EXPECT_NEAR(gradient[i], (above - below) / (2.0 * step), 1e-3) << i;
    }
  }
}

TEST(LabelsTest, LearningAllocatesNothing) {
  PolicyAndValue spec = OneTrunk();
  PlannedAlgorithm algorithm(spec, Labels(), 1);
  std::vector<float> parameters(algorithm.layout().total);
  InitializeParameters(spec, 3, parameters);
  std::vector<float> gradient(algorithm.layout().trained_count());
  TrainingBatch batch = Separable(0);
  const std::uint64_t before = Allocations();
  algorithm.Prepare(parameters, batch);
  while (algorithm.NextGradient(parameters, gradient)) continue;
  EXPECT_EQ(Allocations(), before);
}

}  // namespace
}  // namespace murmurate
