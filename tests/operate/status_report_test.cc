#include "server/operate/status_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/metrics/model_metrics.h"
#include "server/metrics/prometheus_text.h"
#include "server/metrics/stream_metrics.h"
#include "server/operate/status_readings.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(StatusReport, SaysHowLateAnActorsExperienceWasAndWhoWaited) {
  StatusReport report;
  Reading& model = report.models.emplace_back("model", "default");
  model.Set(kLateSteps, 12'000);
  model.Set(kLearnerWait, 0.12);
  model.Set(kActorWait, 0.034);
  model.Set(kIngestWait, 0.0);
  ActorReport actor{.name = "a-1"};
  actor.waited_ns = 1;
  actor.played_ns = 4;
  for (int i = 0; i < 810; ++i) actor.staleness.Add(0);
  for (int i = 0; i < 170; ++i) actor.staleness.Add(1);
  for (int i = 0; i < 19; ++i) actor.staleness.Add(3);
  actor.staleness.Add(100);
  report.actors.actors = {actor, {.name = "a-2"}};
  const auto text = StatusText(report.ToJson());
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, HasSubstr("\n  staleness 0:81% 1:17% 2-3:2% 64-127:<1%\n"));
  EXPECT_THAT(*text,
              HasSubstr("waited: learner 12 %, actors 3 %, experience for a free batch 0 %"));
  EXPECT_THAT(*text, HasSubstr("\n  12,000 steps came too late to be learned from\n"));
  EXPECT_THAT(*text, HasSubstr("actor a-1: live, 0 agents, 0 steps, waited 25 %\n"));
  EXPECT_THAT(*text, HasSubstr("actor a-2: live, 0 agents, 0 steps\n"));
}

TEST(StatusReport, NamesTheStepsTakenAndThoseLearnedFrom) {
  StatusReport report;
  Reading& model = report.models.emplace_back("model", "default");
  model.Set(kEnvironmentSteps, 1'000'000);
  model.Set(kLearnedSteps, 3'500);
  model.Set(kEvalReturn, 0.0);
  model.Set(kEvalSteps, 900'000);
  model.Set(kEvalLearnedSteps, 3'000);
  const auto text = StatusText(report.ToJson());
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text,
              HasSubstr("model default: 1,000,000 steps (3,500 learned from), return - over "));
  EXPECT_THAT(*text, HasSubstr("evaluated 0.000 at step 3,000, ")) << "its checkpoint's number";
  EXPECT_THAT(report.ToJson(), HasSubstr("\"learned_steps\": 3500"));
}

TEST(StatusReport, NamesTheAgentThatIsPlayedWronglyAndTheActorThatIsRefused) {
  StatusReport report;
  ActorReport actor{.name = "a-1"};
  actor.troubles = {{"npc", 3, 8, "NaN at place 1"}, {"npc", 0, 0, "41 % are never sent"}};
  report.actors.actors = {actor};
  report.actors.refused = {{.name = "a-2", .sentence = "other spaces"}};
  const auto text = StatusText(report.ToJson());
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text,
              HasSubstr("actor a-1: live, 0 agents, 0 steps\n"
                        "  agent 3 of model npc: NaN at place 1 (the same of 7 more agents)\n"
                        "  model npc: 41 % are never sent\n"));
  EXPECT_THAT(*text, HasSubstr("actor a-2 is refused: other spaces\n"));
}

TEST(StatusReport, OfAnEarlierVersionLeavesOutWhatItDoesNotSay) {
  const auto text =
      StatusText(R"({"run": "r", "models": [{"name": "m"}], "actors": [{"name": "a"}]})");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, Not(HasSubstr("learned from")));
  EXPECT_THAT(*text, Not(HasSubstr("waited")));
  EXPECT_THAT(*text, Not(HasSubstr("too late")));
  EXPECT_THAT(*text, Not(HasSubstr("  staleness")));
}

TEST(StatusReadings, AreOfTheLearnerItsModelsStreamsHooksAndActors) {
  constexpr Metric kCalls{"hook/calls", MetricKind::kTotal, "", "", "calls", false};
  StatusReport report;
  report.uptime_s = 12.5;
  report.models.emplace_back("model", "npc").Set(kVersion, 7);
  report.streams.emplace_back("stream", "pumps").Set(kStreamReceived, 3);
  report.hooks.emplace_back("hook", "slow-log").Set(kCalls, std::uint64_t{31});
  report.actors = {.actors = {{.name = "a-1", .steps = 5}, {.name = "a-1", .steps = 6}},
                   .waiting = {"npc waits"}};
  report.actors.refusals[1] = 4;
  const std::string text = PrometheusText(StatusReadings(report));
  for (const std::string& line :
       {std::string("murmurate_learner_uptime_seconds 12.5"),
        std::string("murmurate_learner_waiting 1"),
        "murmurate_learner_refusals_total{name=\"" +
            std::string(wire::RefusalName(static_cast<wire::Refusal>(1))) + "\"} 4",
        std::string("murmurate_train_version_total{model=\"npc\"} 7"),
        std::string("murmurate_stream_received_total{stream=\"pumps\"} 3"),
        std::string("murmurate_hook_calls_total{hook=\"slow-log\"} 31"),
        std::string("murmurate_actor_steps_total{actor=\"a-1\"} 11")})
    EXPECT_THAT(text, HasSubstr('\n' + line + '\n'));
}

}  // namespace
}  // namespace murmurate
