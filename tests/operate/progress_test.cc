#include "server/operate/progress.h"

#include <gtest/gtest.h>

#include "shared/model/safetensors.h"
#include "tests/operate/temporary_folder.h"

namespace murmurate {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

TrainingUpdate UpdateWith(std::uint64_t steps, std::vector<EpisodeRecord> episodes) {
  TrainingUpdate update;
  update.environment_steps = steps;
  update.episodes = std::move(episodes);
  return update;
}

std::vector<std::string> Fields(const std::string& row) {
  std::vector<std::string> fields(1);
  for (const char c : row) {
    if (c == '\n') break;
    if (c == ',')
      fields.emplace_back();
    else
      fields.back() += c;
  }
  return fields;
}

TEST(Progress, MeanReturnIsEmptyBeforeTheFirstEpisode) {
  Progress progress(0);
  progress.Take(UpdateWith(512, {}));
  EXPECT_FALSE(progress.mean_return().has_value());
  EXPECT_FALSE(progress.window_full());
}

TEST(Progress, MeanReturnIsOfTheLastHundredTrainingEpisodes) {
  Progress progress(0);
  for (int i = 0; i < 150; ++i)
    progress.Take(UpdateWith(static_cast<std::uint64_t>(i), {{1.0 * i, 2, 0}}));
  EXPECT_TRUE(progress.window_full());
  EXPECT_EQ(progress.episodes(), 150u);
  EXPECT_DOUBLE_EQ(*progress.mean_return(), (50 + 149) / 2.0);
  EXPECT_DOUBLE_EQ(*progress.mean_length(), 2.0);
}

TEST(Progress, EvaluationEpisodesAreNotMixedIn) {
  Progress progress(0);
  progress.Take(UpdateWith(10, {{7.0, 3, 0}, {1000.0, 500, 1}}));
  EXPECT_EQ(progress.episodes(), 1u);
  EXPECT_DOUBLE_EQ(*progress.mean_return(), 7.0);
}

TEST(Progress, EpisodesOfActorsThatEvaluateMakeAnEvaluation) {
  Progress progress(0);
  progress.Take(UpdateWith(640, {{7.0, 3, 0}}));
  EXPECT_FALSE(progress.evaluation().has_value());
  const EpisodeRecord episodes[] = {{1.0, 10, 1}, {99.0, 99, 0}, {4.0, 20, 1}};
  progress.TakeEvaluated(episodes);
  EXPECT_DOUBLE_EQ(progress.evaluation()->mean_return, 2.5);
  EXPECT_DOUBLE_EQ(progress.evaluation()->deviation, 1.5);
  EXPECT_DOUBLE_EQ(progress.evaluation()->mean_length, 15);
  EXPECT_EQ(progress.evaluation()->episodes, 2u);
  EXPECT_EQ(progress.evaluation()->steps, 640u);
  for (int i = 0; i < 100; ++i) progress.TakeEvaluated({{{1.0 * i, 1, 1}}});
  EXPECT_DOUBLE_EQ(progress.evaluation()->mean_return, 49.5);  // of the last hundred
  EXPECT_DOUBLE_EQ(*progress.mean_return(), 7.0);
}

TEST(Progress, TheLearnersOwnEvaluationIsNotMixedWithThatOfActors) {
  Progress progress(0);
  progress.TakeEvaluated({{{1.0, 10, 1}}});
  progress.TakeEvaluation({.steps = 500, .version = 3, .episodes = 100, .mean_return = 80});
  progress.TakeEvaluated({{{2.0, 10, 1}}});
  EXPECT_DOUBLE_EQ(progress.evaluation()->mean_return, 80);
  ASSERT_EQ(progress.evaluation_curve().points().size(), 1u);
  EXPECT_EQ(progress.evaluation_curve().points()[0].steps, 500u);
}

TEST(Progress, SuccessIsTheShareOfTheLastHundredEpisodesThatSaidSo) {
  Progress progress(0);
  progress.Take(UpdateWith(1, {{1.0, 1, 0, 0}}));
  EXPECT_FALSE(progress.success_rate().has_value());
  progress.Take(UpdateWith(2, {{1.0, 1, 0, 2},
                               {1.0, 1, 0, 1},
                               {1.0, 1, 0, 0},
                               {1.0, 1, 0, 2},
                               {1.0, 1, 0, 2},
                               {1.0, 1, 1, 1}}));
  EXPECT_DOUBLE_EQ(*progress.success_rate(), 0.75);  // the last was played to evaluate
  for (int i = 0; i < 99; ++i) progress.Take(UpdateWith(3, {{1.0, 1, 0, 1}}));
  EXPECT_DOUBLE_EQ(*progress.success_rate(), 0.01);
  progress.TakeEvaluated({{{1.0, 1, 1, 2}, {1.0, 1, 1, 1}, {1.0, 1, 1, 0}}});
  EXPECT_DOUBLE_EQ(*progress.evaluation()->success_rate, 0.5);
}

TEST(Evaluation, MeanDeviationAndLengthAreThoseOfTheEpisodes) {
  const Evaluation evaluation = EvaluationOf({{1.0, 4, 1}, {2.0, 5, 1}, {3.0, 6, 1}, {6.0, 9, 1}});
  EXPECT_DOUBLE_EQ(evaluation.mean_return, 3.0);
  EXPECT_DOUBLE_EQ(evaluation.deviation * evaluation.deviation, 3.5);  // (4 + 1 + 0 + 9) / 4
  EXPECT_DOUBLE_EQ(evaluation.mean_length, 6.0);
  EXPECT_EQ(evaluation.episodes, 4u);
}

TEST(Progress, CurveStaysBounded) {
  Progress progress(0);
  for (std::uint64_t i = 1; i <= 100'000; ++i) progress.Take(UpdateWith(i * 10, {{1.0, 1, 0}}));
  const auto& points = progress.curve().points();
  EXPECT_LE(points.size(), 4096u);
  EXPECT_GE(points.size(), 1024u);
  EXPECT_GE(points.back().steps, 990'000u);
}

TEST(Progress, UpdatesAndTrainedStepsAreSummed) {
  Progress progress(0);
  TrainingUpdate update;
  update.updates = 32;
  update.trained_steps = 512;
  progress.Take(update);
  progress.Take(update);
  EXPECT_EQ(progress.last().updates, 64u);
  EXPECT_EQ(progress.last().trained_steps, 1024u);
}

TEST(Progress, RateIsOfTheLastSecondNotOfTheWholeRun) {
  Progress progress(0);
  progress.Take(UpdateWith(1000, {}));
  EXPECT_DOUBLE_EQ(progress.steps_per_second(1 * kSecond), 1000.0);
  progress.Take(UpdateWith(6000, {}));
  EXPECT_DOUBLE_EQ(progress.steps_per_second(3 * kSecond), 2500.0);
}

TEST(ProgressFile, RowHasAFieldForEveryColumn) {
  Progress progress(0);
  const auto columns = Fields(ProgressFile::Header());
  EXPECT_EQ(Fields(ProgressFile::Row(progress, kSecond)).size(), columns.size());
  TrainingUpdate update = UpdateWith(4096, {{20.0, 20, 0}});
  update.updates = 3;
  update.entropy = 0.5;
  update.at_ns = kSecond;
  update.staleness_mean = 1.5;
  update.staleness_max = 4;
  update.late_steps = 40;
  update.learned_steps = 3584;
  update.learner_wait = 0.125;
  update.waited_s = 0.5;
  update.lived_s = 4;
  progress.Take(update);
  const auto row = Fields(ProgressFile::Row(progress, 2 * kSecond));
  ASSERT_EQ(row.size(), columns.size());
  std::map<std::string, std::string> named;
  for (std::size_t i = 0; i < row.size(); ++i) named[columns[i]] = row[i];
  EXPECT_EQ(named["time/total_timesteps"], "4096");
  EXPECT_EQ(named["time/time_elapsed"], "2");
  EXPECT_EQ(named["time/fps"], "2048");
  EXPECT_EQ(named["rollout/ep_rew_mean"], "20");
  EXPECT_EQ(named["eval/mean_reward"], "");
  EXPECT_EQ(named["train/entropy_loss"], "-0.5");
  EXPECT_EQ(named["rollout/success_rate"], "");
  EXPECT_EQ(named["train/policy_lag_avg"], "1.5");
  EXPECT_EQ(named["train/policy_lag_max"], "4");
  EXPECT_EQ(named["perf/late_steps"], "40");
  EXPECT_EQ(named["time/learned_steps"], "3584");
  EXPECT_EQ(named["perf/learner_wait"], "0.125");
  EXPECT_EQ(named["perf/data_wait"], "0.125");
  EXPECT_EQ(named["perf/actor_wait"], "") << "no actor has said";
  progress.TakeEvaluation({4000, 3, 100, 312.5, 10.25, 44, 0.25});
  const auto evaluated = Fields(ProgressFile::Row(progress, 2 * kSecond));
  ASSERT_EQ(evaluated.size(), columns.size());
  for (std::size_t i = 0; i < evaluated.size(); ++i) named[columns[i]] = evaluated[i];
  EXPECT_EQ(named["eval/mean_reward"], "312.5");
  EXPECT_EQ(named["eval/std_reward"], "10.25");
  EXPECT_EQ(named["eval/mean_ep_length"], "44");
  EXPECT_EQ(named["eval/success_rate"], "0.25");
  EXPECT_EQ(named["eval/timesteps"], "4000");
  EXPECT_EQ(named["train/entropy_loss"], "-0.5");
}

TEST(ProgressFile, RowsAreOnDiskAtOnce) {
  TemporaryFolder folder;
  auto file = ProgressFile::Create(folder.path() + "/progress.csv");
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->Append("1,2,3\n").ok());
  EXPECT_EQ(*ReadFile(folder.path() + "/progress.csv", 10000), ProgressFile::Header() + "1,2,3\n");
}

TEST(ProgressFile, AFolderThatIsNotThereIsNamed) {
  const auto file = ProgressFile::Create("/nowhere/at/all.csv");
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().code(), StatusCode::kResource);
  EXPECT_NE(file.status().message().find("/nowhere/at/all.csv"), std::string::npos);
}

}  // namespace
}  // namespace murmurate
