#include "server/metrics/prometheus_text.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "server/metrics/actor_metrics.h"
#include "server/metrics/model_metrics.h"
#include "server/metrics/prometheus_names.h"
#include "server/metrics/stream_metrics.h"

namespace murmurate {
namespace {

constexpr std::string_view kNothingLeftOut =
    "# HELP murmurate_series_left_out series that would be more than this text may have\n"
    "# TYPE murmurate_series_left_out gauge\n"
    "murmurate_series_left_out 0\n";

constexpr Metric kWait{"test/wait_s", MetricKind::kHistogram, "s", "a wait", "", false};

std::string TextOf(const std::vector<Reading>& readings) { return PrometheusText(readings); }

std::string Lines(std::string_view lines) {
  return std::string(lines) + std::string(kNothingLeftOut);
}

TEST(PrometheusNames, HaveUnitsAndSayWhatOnlyRises) {
  EXPECT_EQ(PrometheusName(kUpdates), "murmurate_train_updates_total");
  EXPECT_EQ(PrometheusName(kMeanReturn), "murmurate_rollout_ep_rew_mean");
  EXPECT_EQ(PrometheusName(kLearnerWait), "murmurate_perf_learner_wait_ratio");
  EXPECT_EQ(PrometheusName(kExchangeWait), "murmurate_parameters_wait_seconds");
  EXPECT_EQ(PrometheusName(kElapsed), "murmurate_time_elapsed_seconds");
  EXPECT_EQ(PrometheusName(kEnvironmentSteps), "murmurate_time_timesteps_total");
  EXPECT_EQ(PrometheusName(kActorWaited), "murmurate_actor_waited_seconds_total");
  EXPECT_EQ(PrometheusName(kStepRate), "murmurate_perf_steps_per_second");
  EXPECT_EQ(PrometheusName(kStreamRate), "murmurate_stream_messages_per_second");
  EXPECT_EQ(PrometheusName({"a.b-c/d\xC3\xA4", MetricKind::kTotal, "bytes"}),
            "murmurate_a_b_c_d_bytes_total");
}

TEST(PrometheusText, HasOneHeadForAllLinesOfAName) {
  Reading first("model", "prey"), second("model", "hunter");
  first.Set(kUpdates, 3);
  first.Set(kMeanReturn, 1.25);
  second.Set(kUpdates, 4);
  EXPECT_EQ(TextOf({first, second}),
            Lines("# HELP murmurate_train_updates_total optimizer steps\n"
                  "# TYPE murmurate_train_updates_total counter\n"
                  "murmurate_train_updates_total{model=\"prey\"} 3\n"
                  "murmurate_train_updates_total{model=\"hunter\"} 4\n"
                  "# HELP murmurate_rollout_ep_rew_mean mean raw return of the last 100 training "
                  "episodes\n"
                  "# TYPE murmurate_rollout_ep_rew_mean gauge\n"
                  "murmurate_rollout_ep_rew_mean{model=\"prey\"} 1.25\n"));
}

TEST(PrometheusText, CountsBucketsUpAndEndsThemWithInfinity) {
  Histogram waits{std::vector<double>{0.5, 1}};
  for (const double seconds : {0.25, 0.5, 0.75, 8.0}) waits.Add(seconds);
  Reading reading("model", "m");
  reading.Set(kWait, waits);
  EXPECT_EQ(TextOf({reading}),
            Lines("# HELP murmurate_test_wait_seconds a wait (s)\n"
                  "# TYPE murmurate_test_wait_seconds histogram\n"
                  "murmurate_test_wait_seconds_bucket{model=\"m\",le=\"0.5\"} 2\n"
                  "murmurate_test_wait_seconds_bucket{model=\"m\",le=\"1\"} 3\n"
                  "murmurate_test_wait_seconds_bucket{model=\"m\",le=\"+Inf\"} 4\n"
                  "murmurate_test_wait_seconds_sum{model=\"m\"} 9.5\n"
                  "murmurate_test_wait_seconds_count{model=\"m\"} 4\n"));
}

TEST(PrometheusText, EscapesLabelsAndReplacesWhatIsNoUtf8) {
  Reading reading("model", "a\"b\\c\nd\xFF");
  reading.Add(kReported, "ki\"lls", 2.0, 1);
  EXPECT_NE(TextOf({reading}).find("murmurate_reports{model=\"a\\\"b\\\\c\\nd\xEF\xBF\xBD\","
                                   "name=\"ki\\\"lls\"} 2\n"),
            std::string::npos)
      << TextOf({reading});
}

TEST(PrometheusText, LeavesOutTextsAndWhatHasNoValue) {
  Reading reading;
  reading.Set(kCheckpointTrouble, "the disk is full");
  reading.Set(kMeanReturn, MetricValue());
  EXPECT_EQ(TextOf({reading}), kNothingLeftOut);
  reading.Set(kStreamUp, true);  // without a name there are no labels
  EXPECT_NE(TextOf({reading}).find("\nmurmurate_stream_up 1\n"), std::string::npos);
}

TEST(PrometheusText, KeepsTheFirstOfTwoValuesOfOneSeries) {
  Reading first("actor", "game"), second("actor", "game");
  first.Set(kActorSteps, 10);
  second.Set(kActorSteps, 20);
  const std::string text = TextOf({first, second});
  EXPECT_NE(text.find("murmurate_actor_steps_total{actor=\"game\"} 10\n"), std::string::npos);
  EXPECT_EQ(text.find("} 20"), std::string::npos);
}

TEST(PrometheusText, IsBoundedAndSaysWhatItLeavesOut) {
  Reading many("model", "m");
  for (std::size_t i = 0; i < kMaxPrometheusSeries + 5; ++i)
    many.Add(kReported, std::to_string(i), 1.0, 1);
  Reading late("model", "late");
  Histogram waits{std::vector<double>{1}};
  late.Set(kWait, waits);  // two buckets, a sum and a count
  const std::string text = TextOf({many, late});
  EXPECT_EQ(std::ranges::count(text, '\n'), kMaxPrometheusSeries + 2 + 3);
  EXPECT_NE(text.find("\nmurmurate_series_left_out 9\n"), std::string::npos);
}

TEST(ActorReadings, AddUpActorsOfOneName) {
  std::vector<ActorReport> actors{
      {.name = "game", .agents = 2, .steps = 100, .silent_ns = 3'000'000'000},
      {.name = "other", .steps = 7},
      {.name = "game",
       .health = ActorReport::Health::kGone,
       .agents = 5,
       .steps = 11,
       .silent_ns = 9'000'000'000,
       .waited_ns = 500'000'000}};
  actors[0].staleness.Add(0);
  actors[0].staleness.Add(3);
  actors[2].staleness.Add(70'000);
  const std::vector<Reading> readings = ActorReadings(actors);
  ASSERT_EQ(readings.size(), 2u);
  EXPECT_EQ(readings[0].name(), "game");
  EXPECT_EQ(readings[0].Count(kActorSteps), 111u);
  EXPECT_EQ(readings[0].Count(kActorLive), 1u);
  EXPECT_EQ(readings[0].Count(kActorAgents), 2u);
  EXPECT_EQ(readings[0].Number(kActorSilent), 3.0);
  EXPECT_EQ(readings[0].Number(kActorWaited), 0.5);
  const std::string text = PrometheusText(readings);
  for (const char* line : {"murmurate_actor_staleness_bucket{actor=\"game\",le=\"0\"} 1\n",
                           "murmurate_actor_staleness_bucket{actor=\"game\",le=\"1\"} 1\n",
                           "murmurate_actor_staleness_bucket{actor=\"game\",le=\"3\"} 2\n",
                           "murmurate_actor_staleness_bucket{actor=\"game\",le=\"16383\"} 2\n",
                           "murmurate_actor_staleness_bucket{actor=\"game\",le=\"+Inf\"} 3\n",
                           "murmurate_actor_staleness_sum{actor=\"game\"} 70003\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

}  // namespace
}  // namespace murmurate
