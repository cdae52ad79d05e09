// What each built-in kind does with events; the daemon's part is in tests/server/hooks_run_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/hooks/hook_stage.h"

namespace murmurate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(BuiltInHooks, LoggingSaysItsMetricsEverySoManyStepsOrSecondsAndAtTheEnd) {
  HookStage stage;
  const auto hook = stage.Make(
      "kind = \"logging\"\nmetrics = [\"rollout/ep_rew_mean\"]\nevery_steps = 100\nevery_s = 5\n");
  for (const auto& [steps, at_s] : {std::pair{10, 0.0}, {100, 1.0}, {110, 2.0}, {120, 8.0}})
    EXPECT_TRUE(hook->OnEvent(AfterBatch(static_cast<std::uint64_t>(steps), at_s)).ok());
  EXPECT_EQ(stage.log(),
            "hook logging: model default, step 110: rollout/ep_rew_mean 20.5\n"
            "hook logging: model default, step 120: rollout/ep_rew_mean 20.5\n");
  HookEvent end = AfterBatch(130);
  end.moment = HookMoment::kEnd;
  EXPECT_TRUE(hook->OnEvent(end).ok());
  EXPECT_THAT(stage.log(), HasSubstr("at the end, step 130: rollout/ep_rew_mean 20.5\n"));
}

TEST(BuiltInHooks, LoggingOfAllModelsCountsTheStepsOfEach) {
  HookStage stage;
  const auto hook = stage.Make(
      "kind = \"logging\"\nmetrics = [\"train/loss\"]\nmodel = \"*\"\nevery_steps = 100\n");
  for (const auto& [model, steps] : {std::pair{"default", 1000u},
                                     {"npc", 10u},
                                     {"default", 1050u},
                                     {"npc", 110u},
                                     {"default", 1099u}}) {
    HookEvent event = AfterBatch(steps);
    event.model = model;
    EXPECT_TRUE(hook->OnEvent(event).ok());
  }
  EXPECT_EQ(stage.log(), "hook logging: model npc, step 110: none of its metrics has a value\n");
}

TEST(BuiltInHooks, LoggingOfAnotherModelHasNoNumbersOfTheFirstAtTheEnd) {
  HookStage stage;
  const auto hook = stage.Make("kind = \"logging\"\nmodel = \"npc\"\n");
  HookEvent end = AfterBatch(130);
  end.moment = HookMoment::kEnd;
  EXPECT_TRUE(hook->OnEvent(end).ok());
  EXPECT_EQ(stage.log(), "");
}

TEST(BuiltInHooks, StepCounterSaysStepsAndBatchesASecond) {
  HookStage stage;
  const auto hook = stage.Make("kind = \"step_counter\"\nevery_s = 2\n");
  for (int i = 0; i <= 4; ++i)
    EXPECT_TRUE(hook->OnEvent(AfterBatch(static_cast<std::uint64_t>(100 * i), 0.5 * i)).ok());
  EXPECT_EQ(stage.log(), "hook step_counter: step 400: 200 steps/s, 2 batches/s\n");
}

TEST(BuiltInHooks, StopAtStepCountsFromTheRunsBeginOrFromThisLifes) {
  for (const auto& [line, last] : {std::pair{"step = 1000\n", 1000u}, {"steps = 300\n", 1100u}}) {
    HookStage stage;
    const auto hook = stage.Make(std::string("kind = \"stop_at_step\"\n") + line);
    HookEvent first = AfterBatch(800);
    first.moment = HookMoment::kBeforeBatch;
    EXPECT_TRUE(hook->OnEvent(first).ok());
    EXPECT_TRUE(hook->OnEvent(AfterBatch(last - 1)).ok());
    EXPECT_THAT(stage.stops, IsEmpty());
    EXPECT_TRUE(hook->OnEvent(AfterBatch(last)).ok());
    EXPECT_EQ(stage.stops.size(), 1u);
    EXPECT_THAT(hook->done(), HasSubstr("ended the run: step "));
  }
}

TEST(BuiltInHooks, StopAtReturnWaitsForTheReturnAndItsEpisodes) {
  HookStage stage;
  const auto hook = stage.Make("kind = \"stop_at_return\"\nvalue = 50\n");
  HookEvent event = AfterBatch(100);
  EXPECT_TRUE(hook->OnEvent(event).ok());
  event.reading.Set(kMeanReturn, 50.0);
  event.reading.Set(kEpisodeCount, std::uint64_t{99});
  EXPECT_TRUE(hook->OnEvent(event).ok());
  EXPECT_THAT(stage.stops, IsEmpty());
  event.reading.Set(kEpisodeCount, std::uint64_t{100});
  EXPECT_TRUE(hook->OnEvent(event).ok());
  EXPECT_EQ(Joined(stage.stops),
            "hook stop_at_return: rollout/ep_rew_mean 50.0 has reached 50.0 at step 100|");
}

TEST(BuiltInHooks, StopAtLossTakesTheMeanOfItsBatches) {
  HookStage stage;
  const auto hook = stage.Make(
      "kind = \"stop_at_loss\"\nmetric = \"train/value_loss\"\nvalue = 0.5\nbatches = 2\n");
  const auto after = [&](double loss) {
    HookEvent event = AfterBatch(100);
    event.reading.Set(kValueLoss, loss);
    EXPECT_TRUE(hook->OnEvent(event).ok());
  };
  after(0.1);  // one batch is not two
  after(1.0);
  after(0.2);  // 0.6
  EXPECT_THAT(stage.stops, IsEmpty());
  after(0.6);  // 0.4
  EXPECT_EQ(stage.stops.size(), 1u);
}

TEST(BuiltInHooks, AMetricThatNeverComesIsSaidWithThoseThatDo) {
  HookStage stage;
  const auto hook = stage.Make("kind = \"stop_at_loss\"\nvalue = 0.5\n");
  for (int i = 1; i < 20; ++i) EXPECT_TRUE(hook->OnEvent(AfterBatch(100)).ok());
  const Status said = hook->OnEvent(AfterBatch(100));
  EXPECT_THAT(said.message(), HasSubstr("metric \"train/loss\" has had no value in 20 batches"));
  EXPECT_THAT(said.message(), HasSubstr("train/value_loss"));
  EXPECT_TRUE(hook->OnEvent(AfterBatch(100)).ok());  // once
}

TEST(BuiltInHooks, StopOnPlateauWantsABetterValueWithinItsPatience) {
  for (const char* mode : {"max", "min"}) {
    HookStage stage;
    const auto hook =
        stage.Make("kind = \"stop_on_plateau\"\npatience_steps = 100\nmin_delta = 1\nmode = \"" +
                   std::string(mode) + "\"\n");
    const double sign = mode == std::string("max") ? 1 : -1;
    const auto after = [&](std::uint64_t steps, double value) {
      HookEvent event = AfterBatch(steps);
      event.reading.Set(kMeanReturn, sign * value);
      EXPECT_TRUE(hook->OnEvent(event).ok());
    };
    after(0, 10);
    after(90, 12);   // better
    after(189, 13);  // by no more than 1
    EXPECT_THAT(stage.stops, IsEmpty()) << mode;
    after(190, 13);
    EXPECT_THAT(Joined(stage.stops), HasSubstr("since step 90")) << mode;
  }
}

TEST(BuiltInHooks, StopAtTimeNeedsNoBatch) {
  HookStage stage;
  const auto hook = stage.Make("kind = \"stop_at_time\"\nafter = \"2s\"\n");
  EXPECT_TRUE(hook->Start(1000).ok());
  EXPECT_EQ(hook->due_ns(), 2'000'001'000);
  EXPECT_TRUE(hook->OnTime(hook->due_ns()).ok());
  EXPECT_EQ(Joined(stage.stops), "hook stop_at_time: 2s have passed|");
}

TEST(BuiltInHooks, CheckpointSaverAsksForOneOfTheModel) {
  HookStage stage;
  const auto hook = stage.Make("kind = \"checkpoint_saver\"\nevery_steps = 100\n");
  for (const std::uint64_t steps : {0, 60, 120, 180, 240})
    EXPECT_TRUE(hook->OnEvent(AfterBatch(steps)).ok());
  EXPECT_THAT(stage.checkpoints, ElementsAre("default", "default"));
}

TEST(BuiltInHooks, NanGuardEndsTheRunAfterItsBatchesInARow) {
  HookStage stage;
  const auto hook = stage.Make("kind = \"nan_guard\"\nbatches = 2\n");
  for (const bool finite : {false, true, false, false}) {
    EXPECT_THAT(stage.stops, IsEmpty());
    HookEvent event = AfterBatch(5);
    event.finite = finite;
    EXPECT_TRUE(hook->OnEvent(event).ok());
  }
  EXPECT_EQ(Joined(stage.stops),
            "hook nan_guard: losses or gradients of model default are not finite numbers at step "
            "5|");
}

TEST(BuiltInHooks, NanGuardGoesBackAsOftenAsItMayAndLeavesOutTheBatchUnderWay) {
  HookStage stage;
  const auto hook =
      stage.Make("kind = \"nan_guard\"\naction = \"restore\"\ntimes = 2\nrate_factor = 0.25\n");
  HookEvent event = AfterBatch(5);
  event.finite = false;
  const auto at = [&](std::uint64_t version) {
    event.version = version;
    EXPECT_TRUE(hook->OnEvent(event).ok());
  };
  stage.newest_version = 12;
  at(10);
  at(11);  // older than what it went back at
  at(13);  // was under way
  EXPECT_THAT(stage.restores, ElementsAre(0.25));
  stage.newest_version = 14;
  at(14);
  EXPECT_THAT(stage.restores, ElementsAre(0.25, 0.25));
  at(16);
  EXPECT_THAT(Joined(stage.stops), HasSubstr("it went back 2 times already"));
  EXPECT_THAT(stage.log(), HasSubstr("it goes back to the checkpoint of step 7 (1 of at most 2"));
}

TEST(BuiltInHooks, NanGuardEndsARunThatCannotGoBack) {
  HookStage stage;
  stage.restorable = false;
  const auto hook = stage.Make("kind = \"nan_guard\"\naction = \"restore\"\n");
  HookEvent event = AfterBatch(5);
  event.finite = false;
  EXPECT_TRUE(hook->OnEvent(event).ok());
  EXPECT_THAT(Joined(stage.stops), HasSubstr("and it cannot go back: it runs in lock-step"));
}

TEST(BuiltInHooks, SummarySaverKeepsItsMetricsInAFileThatALaterLifeGoesOnWith) {
  HookStage stage;
  for (const std::uint64_t begin : {0, 1000}) {
    const auto hook = stage.Make(
        "kind = \"summary_saver\"\nname = \"few\"\nmetrics = [\"rollout/ep_rew_mean\", "
        "\"train/loss\"]\nevery_steps = 100\n");
    EXPECT_TRUE(hook->Start(0).ok());
    for (const std::uint64_t steps : {0, 60, 120})
      EXPECT_TRUE(hook->OnEvent(AfterBatch(begin + steps)).ok());
  }
  EXPECT_EQ(stage.Read("hooks/few.csv"),
            "model,steps,rollout/ep_rew_mean,train/loss\ndefault,120,20.5,\ndefault,1120,20.5,\n");
}

TEST(BuiltInHooks, SummarySaverWritesNoRowsUnderOtherColumns) {
  HookStage stage;
  const std::string lines = "kind = \"summary_saver\"\nname = \"few\"\nevery_steps = 100\n";
  EXPECT_TRUE(stage.Make(lines + "metrics = [\"train/loss\"]\n")->Start(0).ok());
  const Status other = stage.Make(lines + "metrics = [\"train/value_loss\"]\n")->Start(0);
  EXPECT_THAT(other.message(),
              HasSubstr("few.csv: its columns are \"model,steps,train/loss\", expected "
                        "\"model,steps,train/value_loss\"; give this hook another name"));
}

TEST(BuiltInHooks, WaitForStepHoldsLearnersButTheFirstUntilTheOtherIsThere) {
  const std::string lines = "kind = \"wait_for_step\"\nstep = 50\nof = \"runs/first\"\n";
  HookStage stage;
  EXPECT_FALSE(stage.Make(lines)->holds());  // worker 0
  stage.worker = 1;
  const auto hook = stage.Make(lines);
  EXPECT_TRUE(hook->holds());
  EXPECT_TRUE(hook->Start(0).ok());
  stage.others = 49;
  EXPECT_TRUE(hook->OnTime(hook->due_ns()).ok());
  EXPECT_TRUE(hook->holds());
  stage.others = 50;
  EXPECT_TRUE(hook->OnTime(hook->due_ns()).ok());
  EXPECT_FALSE(hook->holds());
  EXPECT_THAT(hook->done(), HasSubstr("runs/first has come to step 50"));
}

TEST(BuiltInHooks, WaitForStepGivesUpAfterItsTime) {
  HookStage stage;
  stage.worker = 1;
  const auto hook =
      stage.Make("kind = \"wait_for_step\"\nstep = 50\nof = \"runs/first\"\nat_most_s = 3\n");
  EXPECT_TRUE(hook->Start(0).ok());
  EXPECT_TRUE(hook->OnTime(2'999'999'999).ok());
  EXPECT_TRUE(hook->holds());
  EXPECT_TRUE(hook->OnTime(3'000'000'000).ok());
  EXPECT_FALSE(hook->holds());
  EXPECT_THAT(stage.log(), HasSubstr("learns since it has waited for 3.0 s"));
}

TEST(BuiltInHooks, FinalEvaluationSaysWhatTheLastWeightsCameTo) {
  HookStage stage;
  const auto hook = stage.Make("kind = \"final_evaluation\"\nepisodes = 9\n");
  EXPECT_EQ(hook->wants(), 0u);
  EXPECT_TRUE(hook->OnEvent({.moment = HookMoment::kEnd}).ok());
  EXPECT_EQ(stage.log(),
            "hook final_evaluation: mean return 12.500, standard deviation 1.500, over 9 episodes "
            "without exploration, with the weights of step 77\n");
}

TEST(BuiltInHooks, FeedSetsWhatAFileHoldsWhenThatChanges) {
  HookStage stage;
  stage.Write("rate", " 0.001\n");
  const auto hook = stage.Make(
      "kind = \"feed\"\nsetting = \"optimizer.learning_rate\"\nfile = \"rate\"\n"
      "every_steps = 100\n");
  EXPECT_TRUE(hook->OnEvent(AfterBatch(0)).ok());
  EXPECT_TRUE(hook->OnEvent(AfterBatch(100)).ok());  // the same
  stage.Write("rate", "0.0005 and why");
  EXPECT_TRUE(hook->OnEvent(AfterBatch(150)).ok());  // not due
  EXPECT_TRUE(hook->OnEvent(AfterBatch(200)).ok());
  EXPECT_EQ(Joined(stage.sets), "optimizer.learning_rate=0.001|optimizer.learning_rate=5e-04|");
  stage.Write("rate", "fast");
  EXPECT_THAT(hook->OnEvent(AfterBatch(300)).message(),
              HasSubstr("/rate: got \"fast\", expected a number; optimizer.learning_rate stays"));
}

TEST(BuiltInHooks, FeedSetsWhatACommandPrintsAndLeavesOneThatTakesTooLong) {
  HookStage stage;
  const auto hook =
      stage.Make("kind = \"feed\"\nsetting = \"wind\"\ncommand = \"echo 3\"\nevery_steps = 1\n");
  EXPECT_TRUE(hook->OnEvent(AfterBatch(1)).ok());
  EXPECT_EQ(Joined(stage.sets), "wind=3|");
  const auto slow = stage.Make(
      "kind = \"feed\"\nsetting = \"wind\"\ncommand = \"sleep 30\"\ntimeout_s = 0.1\n"
      "every_steps = 1\n");
  const std::int64_t begin_ns = MonotonicNs();
  EXPECT_THAT(slow->OnEvent(AfterBatch(1)).message(), HasSubstr("printed no end within 0.1 s"));
  EXPECT_LT(MonotonicNs() - begin_ns, 5 * kNanosecondsPerSecond);
}

}  // namespace
}  // namespace murmurate
