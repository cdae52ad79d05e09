#include "server/operate/progress.h"

#include <gtest/gtest.h>

#include <cmath>

namespace murmurate {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

TrainingUpdate UpdateWith(std::uint64_t steps, std::vector<EpisodeRecord> episodes) {
  TrainingUpdate update;
  update.steps.taken = steps;
  update.episodes = std::move(episodes);
  return update;
}

TEST(Progress, MeanReturnIsEmptyBeforeTheFirstEpisode) {
  Progress progress(0);
  progress.Apply(UpdateWith(512, {}));
  EXPECT_FALSE(progress.means().mean_return().has_value());
  EXPECT_FALSE(progress.means().full());
}

TEST(Progress, MeanReturnIsOfTheLastHundredTrainingEpisodes) {
  Progress progress(0);
  for (int i = 0; i < 150; ++i)
    progress.Apply(UpdateWith(static_cast<std::uint64_t>(i), {{1.0 * i, 2, 0}}));
  EXPECT_TRUE(progress.means().full());
  EXPECT_EQ(progress.means().episodes(), 150u);
  EXPECT_DOUBLE_EQ(*progress.means().mean_return(), (50 + 149) / 2.0);
  EXPECT_DOUBLE_EQ(*progress.means().mean_length(), 2.0);
}

TEST(Progress, EvaluationEpisodesAreNotMixedIn) {
  Progress progress(0);
  progress.Apply(UpdateWith(10, {{7.0, 3, 0}, {1000.0, 500, 1}}));
  EXPECT_EQ(progress.means().episodes(), 1u);
  EXPECT_DOUBLE_EQ(*progress.means().mean_return(), 7.0);
}

TEST(Progress, EpisodesOfActorsThatEvaluateMakeAnEvaluation) {
  Progress progress(0);
  progress.Apply(UpdateWith(640, {{7.0, 3, 0}}));
  EXPECT_FALSE(progress.evaluation().has_value());
  const EpisodeRecord episodes[] = {{1.0, 10, 1}, {99.0, 99, 0}, {4.0, 20, 1}};
  progress.AddEvaluated(episodes);
  EXPECT_DOUBLE_EQ(progress.evaluation()->mean_return, 2.5);
  EXPECT_DOUBLE_EQ(progress.evaluation()->deviation, 1.5);
  EXPECT_DOUBLE_EQ(progress.evaluation()->mean_length, 15);
  EXPECT_EQ(progress.evaluation()->episodes, 2u);
  EXPECT_EQ(progress.evaluation()->steps, 640u);
  for (int i = 0; i < 100; ++i) progress.AddEvaluated({{{1.0 * i, 1, 1}}});
  EXPECT_DOUBLE_EQ(progress.evaluation()->mean_return, 49.5);  // of the last hundred
  EXPECT_DOUBLE_EQ(*progress.means().mean_return(), 7.0);
}

TEST(Progress, TheLearnersOwnEvaluationIsNotMixedWithThatOfActors) {
  Progress progress(0);
  progress.AddEvaluated({{{1.0, 10, 1}}});
  progress.ApplyEvaluation({.steps = 500, .version = 3, .episodes = 100, .mean_return = 80});
  progress.AddEvaluated({{{2.0, 10, 1}}});
  EXPECT_DOUBLE_EQ(progress.evaluation()->mean_return, 80);
  ASSERT_EQ(progress.evaluation_curve().points().size(), 1u);
  EXPECT_EQ(progress.evaluation_curve().points()[0].steps, 500u);
}

TEST(Progress, SuccessIsTheShareOfTheLastHundredEpisodesThatSaidSo) {
  Progress progress(0);
  progress.Apply(UpdateWith(1, {{1.0, 1, 0, 0}}));
  EXPECT_FALSE(progress.means().success_rate().has_value());
  progress.Apply(UpdateWith(2, {{1.0, 1, 0, 2},
                                {1.0, 1, 0, 1},
                                {1.0, 1, 0, 0},
                                {1.0, 1, 0, 2},
                                {1.0, 1, 0, 2},
                                {1.0, 1, 1, 1}}));
  EXPECT_DOUBLE_EQ(*progress.means().success_rate(), 0.75);  // the last was played to evaluate
  for (int i = 0; i < 99; ++i) progress.Apply(UpdateWith(3, {{1.0, 1, 0, 1}}));
  EXPECT_DOUBLE_EQ(*progress.means().success_rate(), 0.01);
  progress.AddEvaluated({{{1.0, 1, 1, 2}, {1.0, 1, 1, 1}, {1.0, 1, 1, 0}}});
  EXPECT_DOUBLE_EQ(*progress.evaluation()->success_rate, 0.5);
}

TEST(Evaluation, MeanDeviationAndLengthAreThoseOfTheEpisodes) {
  const Evaluation evaluation = EvaluationOf({{1.0, 4, 1}, {2.0, 5, 1}, {3.0, 6, 1}, {6.0, 9, 1}});
  EXPECT_DOUBLE_EQ(evaluation.mean_return, 3.0);
  EXPECT_DOUBLE_EQ(evaluation.deviation * evaluation.deviation, 3.5);  // (4 + 1 + 0 + 9) / 4
  EXPECT_DOUBLE_EQ(evaluation.mean_length, 6.0);
  EXPECT_EQ(evaluation.episodes, 4u);
}

TEST(Evaluation, TheMarginIsThatOfTheNormalApproximation) {
  const Evaluation evaluation = EvaluationOf({{1.0, 4, 1}, {2.0, 5, 1}, {3.0, 6, 1}, {6.0, 9, 1}});
  // The sample variance is (4 + 1 + 0 + 9) / 3, the mean's a quarter of it.
  EXPECT_NEAR(*MarginOf(evaluation), 1.96 * std::sqrt(14.0 / 3 / 4), 1e-4);
  EXPECT_EQ(MarginOf(EvaluationOf({{3.0, 4, 1}, {3.0, 5, 1}})), 0.0);
  EXPECT_EQ(MarginOf(EvaluationOf({{3.0, 4, 1}})), std::nullopt);
}

TEST(Progress, CurveStaysBounded) {
  Progress progress(0);
  for (std::uint64_t i = 1; i <= 100'000; ++i) progress.Apply(UpdateWith(i * 10, {{1.0, 1, 0}}));
  const auto& points = progress.curve().points();
  EXPECT_LE(points.size(), 4096u);
  EXPECT_GE(points.size(), 1024u);
  EXPECT_GE(points.back().steps, 990'000u);
}

TEST(Progress, UpdatesAndTrainedStepsAreSummed) {
  Progress progress(0);
  TrainingUpdate update;
  update.metrics.Set(kUpdates, 32);
  update.metrics.Set(kTrainedSteps, 512);
  progress.Apply(update);
  progress.Apply(update);
  EXPECT_EQ(progress.values().Count(kUpdates), 64u);
  EXPECT_EQ(progress.values().Count(kTrainedSteps), 1024u);
}

TEST(Progress, RateIsOfTheLastSecondNotOfTheWholeRun) {
  Progress progress(0);
  progress.Apply(UpdateWith(1000, {}));
  EXPECT_DOUBLE_EQ(*progress.Live(1 * kSecond).Number(kStepRate), 1000.0);
  progress.Apply(UpdateWith(6000, {}));
  EXPECT_DOUBLE_EQ(*progress.Live(3 * kSecond).Number(kStepRate), 2500.0);
}

TEST(Progress, MeansAreOfWhatCameSinceTheLastRow) {
  Progress progress(0);
  const auto take = [&](double mean, double most) {
    TrainingUpdate update;
    update.metrics.Set(kStaleness, mean);
    update.metrics.Set(kStalenessMax, most);
    progress.Apply(update);
  };
  EXPECT_TRUE(progress.EndRow(kSecond)[kStaleness].empty());
  take(1, 9);
  take(2, 3);
  EXPECT_EQ(progress.Live(kSecond).Number(kStaleness), 2) << "the newest";
  const Reading row = progress.EndRow(kSecond);
  EXPECT_EQ(row.Number(kStaleness), 1.5);
  EXPECT_EQ(row.Number(kStalenessMax), 9);
  EXPECT_TRUE(progress.EndRow(2 * kSecond)[kStaleness].empty()) << "nothing came since";
  take(4, 4);
  EXPECT_EQ(progress.EndRow(3 * kSecond).Number(kStalenessMax), 4);
}

TEST(Progress, AnAlgorithmsOwnMetricIsReadLikeTheOthers) {
  static constexpr Metric kTdError{"train/td_error"};
  Progress progress(0);
  TrainingUpdate update;
  update.metrics.Set(kTdError, 0.25);
  progress.Apply(update);
  EXPECT_EQ(progress.EndRow(kSecond).Number(kTdError), 0.25);
  progress.Apply({});
  EXPECT_TRUE(progress.EndRow(kSecond)[kTdError].empty()) << "the last batch had none";
}

TEST(Progress, CountsThatAreClaimedDoNotWrap) {
  Progress progress(0);
  TrainingUpdate update;
  update.metrics.Set(kDroppedSteps, 1e300);
  progress.Apply(update);
  EXPECT_GE(progress.values().Count(kDroppedSteps), std::uint64_t{1} << 62);
}

}  // namespace
}  // namespace murmurate
