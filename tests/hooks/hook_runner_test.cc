// A hook on its thread: what it is given, what it misses, how it ends.
#include "server/hooks/hook_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>

#include "server/hooks/hook_metrics.h"
#include "server/hooks/hooks.h"
#include "tests/hooks/hook_stage.h"

namespace murmurate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Notes what it is given; stands still inside its first call until it is let go or interrupted.
class StillHook : public Hook {
 public:
  struct Notes {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::uint64_t> steps;
    std::uint64_t dropped = 0;
    bool inside = false, go = false, heeds = true;
    double end_s = 30;
  };
  explicit StillHook(Notes* notes) : notes_(*notes) {}

  HookMoments wants() const override { return Bit(HookMoment::kAfterBatch); }
  double usual_end_s() const override { return notes_.end_s; }
  void OnDropped(std::uint64_t so_far) override { notes_.dropped = so_far; }
  Status OnEvent(const HookEvent& event) override {
    std::unique_lock lock(notes_.mutex);
    notes_.steps.push_back(event.steps);
    notes_.inside = true;
    notes_.changed.notify_all();
    notes_.changed.wait(lock, [this] { return notes_.go; });
    return event.steps == 13 ? InvalidData("thirteen") : Status();
  }
  void Interrupt() override {
    const std::lock_guard lock(notes_.mutex);
    if (notes_.heeds) notes_.go = true;
    notes_.changed.notify_all();
  }

 private:
  Notes& notes_;
};

void LetGo(StillHook::Notes* notes) {
  const std::lock_guard lock(notes->mutex);
  notes->go = true;
  notes->changed.notify_all();
}

void AwaitInside(StillHook::Notes* notes) {
  std::unique_lock lock(notes->mutex);
  ASSERT_TRUE(
      notes->changed.wait_for(lock, std::chrono::seconds(20), [&] { return notes->inside; }));
}

HookRunner::Event Event(std::uint64_t steps, HookMoment moment = HookMoment::kAfterBatch) {
  auto event = std::make_shared<HookEvent>(AfterBatch(steps));
  event->moment = moment;
  return event;
}

std::unique_ptr<HookRunner> RunnerOf(HookStage* stage, StillHook::Notes* notes, int queue) {
  auto runner = std::make_unique<HookRunner>(
      ConfiguredHook{{.kind = "still", .name = "still", .model = "", .queue = queue},
                     std::make_unique<StillHook>(notes)},
      stage->Tools().log);
  runner->Start(1);
  return runner;
}

TEST(HookRunner, AHookThatStandsStillHoldsNothingUpAndWhatItMissesIsCounted) {
  HookStage stage;
  StillHook::Notes notes;
  const auto runner = RunnerOf(&stage, &notes, 3);
  runner->Post(Event(1));
  AwaitInside(&notes);
  const std::int64_t begin_ns = MonotonicNs();
  for (std::uint64_t i = 2; i <= 100; ++i) runner->Post(Event(i));
  EXPECT_LT(MonotonicNs() - begin_ns, kNanosecondsPerSecond);
  EXPECT_EQ(runner->Report().Count(kHookDropped), 96u);
  EXPECT_EQ(runner->Report().Count(kHookWaiting), 3u);
  LetGo(&notes);
  runner->AskToFinish(Event(0, HookMoment::kEnd), MonotonicNs());
  EXPECT_TRUE(runner->AwaitFinish());
  EXPECT_THAT(notes.steps, ElementsAre(1, 2, 3, 4, 0));
  EXPECT_EQ(notes.dropped, 96u);
  EXPECT_EQ(runner->Report().Count(kHookCalls), 6u);  // with its start
}

TEST(HookRunner, AFailureIsCountedAndSaidOnce) {
  HookStage stage;
  StillHook::Notes notes;
  notes.go = true;
  const auto runner = RunnerOf(&stage, &notes, 100);
  for (int i = 0; i < 5; ++i) runner->Post(Event(13));
  runner->Post(Event(14));
  runner->AskToFinish(Event(0, HookMoment::kEnd), MonotonicNs());
  ASSERT_TRUE(runner->AwaitFinish());
  EXPECT_EQ(runner->Report().Count(kHookFailures), 5u);
  EXPECT_EQ(runner->Report()[kHookTrouble].text(), "thirteen");
  EXPECT_EQ(stage.log(), "hook still: thirteen\n");
  EXPECT_EQ(notes.steps.size(), 7u);  // training and its hook go on
}

TEST(HookRunner, TheEndOfTheRunInterruptsAHookThatTakesTooLong) {
  HookStage stage;
  StillHook::Notes notes;
  notes.end_s = 0.2;
  const auto runner = RunnerOf(&stage, &notes, 100);
  runner->Post(Event(1));
  AwaitInside(&notes);
  const std::int64_t begin_ns = MonotonicNs();
  runner->AskToFinish(Event(0, HookMoment::kEnd), begin_ns);
  EXPECT_TRUE(runner->AwaitFinish());
  EXPECT_LT(MonotonicNs() - begin_ns, 10 * kNanosecondsPerSecond);
  EXPECT_THAT(stage.log(), HasSubstr("hook still: it takes too long at the end of the run"));
}

TEST(HookRunner, OneThatHeedsNoInterruptIsLeftBehind) {
  HookStage stage;
  StillHook::Notes notes;
  notes.heeds = false;
  notes.end_s = 0.2;
  const auto runner = RunnerOf(&stage, &notes, 100);
  runner->Post(Event(1));
  AwaitInside(&notes);
  runner->AskToFinish(Event(0, HookMoment::kEnd), MonotonicNs());
  EXPECT_FALSE(runner->AwaitFinish());
  LetGo(&notes);  // so that this process can end
}

TEST(Hooks, EventsOfOtherModelsGoToThoseThatAskForThem) {
  HookStage stage;
  const Config config = stage.Load(
      "[run]\nenvironment = \"cartpole\"\n"
      "[[hook]]\nkind = \"summary_saver\"\nname = \"first\"\nmetrics = [\"train/value_loss\"]\n"
      "every_steps = 1\n"
      "[[hook]]\nkind = \"summary_saver\"\nname = \"all\"\nmetrics = [\"train/value_loss\"]\n"
      "every_steps = 1\nmodel = \"*\"\n"
      "[[hook]]\nkind = \"summary_saver\"\nname = \"npc\"\nmetrics = [\"train/value_loss\"]\n"
      "every_steps = 1\nmodel = \"npc\"\n");
  auto hooks = Hooks::Start(config.entries(), stage.Tools());
  ASSERT_TRUE(hooks.ok()) << hooks.status();
  (*hooks)->NameFirstModel("default");
  for (const std::uint64_t steps : {1, 2, 3}) {
    HookEvent event = AfterBatch(steps);
    event.model = steps < 3 ? "default" : "npc";
    (*hooks)->Post(event);
  }
  (*hooks)->Finish({.moment = HookMoment::kEnd, .steps = 3});
  const auto rows = [&](const char* name) {
    const std::string text = stage.Read("hooks/" + std::string(name) + ".csv");
    return std::count(text.begin(), text.end(), '\n') - 1;
  };
  EXPECT_EQ(rows("first"), 2);  // one, and the end
  EXPECT_EQ(rows("npc"), 0);    // one event begins to count, and the end is of the first
  EXPECT_EQ(rows("all"), 2);
  const auto reports = (*hooks)->Reports();
  ASSERT_EQ(reports.size(), 3u);
  EXPECT_EQ(reports[0].name(), "first");
  EXPECT_EQ(reports[0][kHookKind].text(), "summary_saver");
}

/// What is posted first need not be of it.
TEST(Hooks, TheRunsFirstModelIsTheOneThatIsNamed) {
  HookStage stage;
  const Config config = stage.Load("[[hook]]\nkind = \"command\"\ncommand = \"cat\"\nend_s = 30\n");
  auto hooks = Hooks::Start(config.entries(), stage.Tools());
  ASSERT_TRUE(hooks.ok()) << hooks.status();
  (*hooks)->NameFirstModel("default");
  (*hooks)->NameFirstModel("npc");
  for (const auto& [model, steps] : {std::pair{"npc", 7u}, {"default", 8u}}) {
    HookEvent event = AfterBatch(steps);
    event.model = model;
    (*hooks)->Post(event);
  }
  (*hooks)->Finish({.moment = HookMoment::kEnd, .steps = 9});
  const std::string lines = stage.Read("hooks/command.log");
  EXPECT_EQ(lines.find("npc"), lines.npos) << lines;
  EXPECT_THAT(lines, HasSubstr("\"model\":\"default\",\"steps\":8"));
  EXPECT_THAT(lines, HasSubstr("\"model\":\"default\",\"reason\":\"\",\"steps\":9"));
}

TEST(Hooks, ThoseOfARunThatNeverBeganHaveNoEnd) {
  HookStage stage;
  const Config config =
      stage.Load("[run]\nenvironment = \"cartpole\"\n[[hook]]\nkind = \"final_evaluation\"\n");
  {
    auto hooks = Hooks::Start(config.entries(), stage.Tools());
    ASSERT_TRUE(hooks.ok()) << hooks.status();
  }
  EXPECT_EQ(stage.log(), "");
}

TEST(Hooks, AConfigWithoutHooksHasNone) {
  HookStage stage;
  auto hooks = Hooks::Start(stage.Load("").entries(), stage.Tools());
  ASSERT_TRUE(hooks.ok());
  EXPECT_EQ(*hooks, nullptr);
}

}  // namespace
}  // namespace murmurate
