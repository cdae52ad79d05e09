// Commands and libraries of the user's own: what they are fed, and what becomes of a run whose hook
// sleeps, crashes or does not read.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <stdlib.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "server/hooks/hook_metrics.h"
#include "server/hooks/hook_runner.h"
#include "tests/hooks/hook_stage.h"
#include "tests/source_file.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class OwnHook : public HookStage {
 public:
  /// Starts the hook of these lines on a thread of its own.
  HookRunner& Start(const std::string& lines) {
    runner_ = std::make_unique<HookRunner>(MakeConfigured(lines), Tools().log);
    runner_->Start(1);
    return *runner_;
  }
  void Post(HookEvent event) { runner_->Post(std::make_shared<HookEvent>(std::move(event))); }
  bool Finish() {
    HookEvent end = AfterBatch(999);
    end.moment = HookMoment::kEnd;
    end.text = "the run is over";
    runner_->AskToFinish(std::make_shared<HookEvent>(end), MonotonicNs());
    return runner_->AwaitFinish();
  }
  bool Eventually(const std::function<bool()>& condition) const {
    for (int i = 0; i < 4000 && !condition(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return condition();
  }
  std::uint64_t Count(const Metric& metric) const { return runner_->Report().Count(metric); }

 private:
  std::unique_ptr<HookRunner> runner_;
};

std::vector<nlohmann::json> LinesOf(const std::string& text) {
  std::vector<nlohmann::json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

TEST(CommandHook, IsFedOneJsonObjectALineAndHasTimeToEnd) {
  OwnHook own;
  own.Start(
      "kind = \"command\"\ncommand = \"cat; sleep 0.1; echo '{\\\"event\\\": \\\"read\\\"}'\"\n");
  own.Post(AfterBatch(10));
  HookEvent episode = AfterBatch(10);
  episode.moment = HookMoment::kEpisode;
  episode.episode = {21.5, 22, true};
  own.Post(episode);
  HookEvent checkpoint = AfterBatch(10);
  checkpoint.moment = HookMoment::kCheckpoint;
  checkpoint.text = "runs/a/checkpoints/step-000000000010";
  own.Post(checkpoint);
  ASSERT_TRUE(own.Finish());
  const auto lines = LinesOf(own.Read("hooks/command.log"));
  ASSERT_EQ(lines.size(), 6u) << own.Read("hooks/command.log");
  EXPECT_EQ(lines[0]["event"], "begin");
  EXPECT_EQ(lines[0]["run"], own.folder());
  EXPECT_EQ(lines[1]["event"], "after_batch");
  EXPECT_EQ(lines[1]["steps"], 10);
  EXPECT_EQ(lines[1]["metrics"]["rollout/ep_rew_mean"], 20.5);
  EXPECT_EQ(lines[1]["finite"], true);
  EXPECT_EQ(lines[2]["return"], 21.5);
  EXPECT_EQ(lines[2]["length"], 22);
  EXPECT_EQ(lines[2]["success"], true);
  EXPECT_EQ(lines[3]["folder"], "runs/a/checkpoints/step-000000000010");
  EXPECT_EQ(lines[3]["good"], true);
  EXPECT_EQ(lines[4]["event"], "end");
  EXPECT_EQ(lines[4]["reason"], "the run is over");
  EXPECT_EQ(lines[5]["event"], "read");
  EXPECT_EQ(own.Count(kHookFailures), 0u);
}

TEST(CommandHook, TheExampleInPythonPrintsWhatItIsFed) {
  OwnHook own;
  own.Start("kind = \"command\"\ncommand = \"python3 " +
            SourceFile("examples/hooks/print_events.py") + "\"\nend_s = 30\n");
  own.Post(AfterBatch(10));
  HookEvent episode = AfterBatch(10);
  episode.moment = HookMoment::kEpisode;
  episode.episode = {21.5, 22};
  own.Post(episode);
  ASSERT_TRUE(own.Finish());
  EXPECT_EQ(own.Read("hooks/command.log"),
            "begin\nstep 10: mean return 20.5\nepisode of 22 steps, return 21.5\nend\n");
}

TEST(CommandHook, GetsTheEventsThatItsKeysName) {
  OwnHook own;
  HookRunner& runner =
      own.Start("kind = \"command\"\ncommand = \"cat\"\nevents = [\"checkpoint\", \"end\"]\n");
  EXPECT_TRUE(runner.wants(HookMoment::kCheckpoint));
  EXPECT_FALSE(runner.wants(HookMoment::kAfterBatch));
  EXPECT_TRUE(own.Finish());
}

TEST(CommandHook, OneThatCrashesIsSaidAndStartedAgainAsOftenAsItMay) {
  OwnHook own;
  own.Start(
      "kind = \"command\"\ncommand = \"echo started; read line; kill -SEGV $$\"\n"
      "restart_s = 0.01\nrestarts = 2\n");
  ASSERT_TRUE(own.Eventually([&] {
    own.Post(AfterBatch(1));
    return own.Read("hooks/command.log") == "started\nstarted\nstarted\n" &&
           own.Count(kHookFailures) >= 3;
  })) << own.Read("hooks/command.log");
  EXPECT_THAT(own.log(), HasSubstr("hook command: the command was ended by signal 11, and is "
                                   "started again; see " +
                                   own.folder() + "/hooks/command.log\n"));
  EXPECT_TRUE(own.Finish());
  EXPECT_EQ(own.Read("hooks/command.log"), "started\nstarted\nstarted\n");
}

TEST(CommandHook, OneThatEndsIsLeftWhenItsKeysSaySo) {
  OwnHook own;
  HookRunner& runner = own.Start(
      "kind = \"command\"\ncommand = \"echo started; exit 3\"\nrestart_s = 0\n"
      "on_exit = \"leave\"\n");
  ASSERT_TRUE(own.Eventually([&] {
    own.Post(AfterBatch(1));
    return runner.Report()[kHookState].text() ==
           "the command ended with exit code 3, and on_exit = \"leave\"";
  }));
  own.Post(AfterBatch(2));
  EXPECT_TRUE(own.Finish());
  EXPECT_EQ(own.Read("hooks/command.log"), "started\n");
  EXPECT_EQ(own.Count(kHookFailures), 1u);
}

/// A pipe holds 64 KiB.
TEST(CommandHook, OneThatDoesNotReadLosesEventsAndIsEndedWithTheRun) {
  OwnHook own;
  own.Start("kind = \"command\"\ncommand = \"sleep 30\"\nqueue = 10\nread_s = 0.05\nend_s = 0.2\n");
  HookEvent large = AfterBatch(1);
  large.moment = HookMoment::kCheckpoint;
  large.text = std::string(50'000, 'x');
  for (int i = 0; i < 30; ++i) own.Post(large);
  EXPECT_TRUE(own.Eventually([&] { return own.Count(kHookFailures) > 0; }));
  EXPECT_THAT(own.log(), HasSubstr("hook command: it has not read its standard input for "));
  for (int i = 0; i < 30; ++i) own.Post(large);
  EXPECT_GT(own.Count(kHookDropped), 0u);
  const std::int64_t begin_ns = MonotonicNs();
  EXPECT_TRUE(own.Finish());
  EXPECT_LT(MonotonicNs() - begin_ns, 10 * kNanosecondsPerSecond);
}

/// A pipe has room for one of its events and a part of the next.
TEST(CommandHook, OneThatReadsTooLateIsToldHowManyEventsItHasLost) {
  OwnHook own;
  own.Start("kind = \"command\"\ncommand = \"while [ ! -e " + own.folder() +
            "/read ]; do sleep 0.02; done; cat\"\n"
            "read_s = 0.05\nqueue = 200\nend_s = 30\n");
  HookEvent large = AfterBatch(1);
  large.moment = HookMoment::kCheckpoint;
  large.text = std::string(50'000, 'x');
  for (int i = 0; i < 6; ++i) own.Post(large);
  ASSERT_TRUE(own.Eventually([&] { return own.Count(kHookWaiting) == 0; }));
  own.Write("read", "");
  ASSERT_TRUE(own.Finish());
  const auto lines = LinesOf(own.Read("hooks/command.log"));
  ASSERT_GE(lines.size(), 3u);
  EXPECT_EQ(own.Count(kHookDropped), 0u);
  EXPECT_EQ(lines.back()["event"], "end");
  // begin, the events that it got, and the end
  EXPECT_EQ(lines.back()["lost"], 6 - (lines.size() - 2));
}

TEST(CommandHook, OneThatClosesItsInputAndLivesOnIsSaid) {
  OwnHook own;
  own.Start("kind = \"command\"\ncommand = \"exec 0<&-; sleep 30\"\nend_s = 0.2\n");
  ASSERT_TRUE(own.Eventually([&] {
    own.Post(AfterBatch(1));
    return own.Count(kHookFailures) > 0;
  }));
  EXPECT_EQ(own.log(),
            "hook command: the command has closed its standard input, so it misses events; read it "
            "to its end\n");
  EXPECT_TRUE(own.Finish());
}

TEST(CommandHook, OneThatReadsOnAfterALongPauseGetsWholeLines) {
  OwnHook own;
  own.Start("kind = \"command\"\ncommand = \"sleep 1.5; cat\"\nread_s = 0.05\nqueue = 200\n");
  HookEvent large = AfterBatch(1);
  large.moment = HookMoment::kCheckpoint;
  large.text = std::string(50'000, 'x');
  for (int i = 0; i < 12; ++i) own.Post(large);
  EXPECT_TRUE(own.Finish());
  const auto lines = LinesOf(own.Read("hooks/command.log"));  // each of them is JSON
  ASSERT_GE(lines.size(), 3u);
  EXPECT_EQ(lines.front()["event"], "begin");
  EXPECT_EQ(lines.back()["event"], "end");
}

TEST(LibraryHook, TheExampleCountsWhatItIsToldOf) {
  OwnHook own;
  own.Start("kind = \"library\"\npath = \"" MURMURATE_COUNT_BATCHES "\"\nargument = \"counts\"\n");
  HookEvent episode = AfterBatch(10);
  episode.moment = HookMoment::kEpisode;
  for (int i = 0; i < 3; ++i) own.Post(episode);
  for (int i = 0; i < 2; ++i) own.Post(AfterBatch(10));
  HookEvent checkpoint = AfterBatch(10);
  checkpoint.moment = HookMoment::kCheckpoint;
  own.Post(checkpoint);
  EXPECT_TRUE(own.Finish());
  EXPECT_EQ(own.log(), "");
  EXPECT_EQ(own.Read("counts"),
            "2 batches, 3 episodes, 1 checkpoints, mean return 20.5, step 999, lost 0\n");
}

TEST(LibraryHook, OneThatFailsIsSaidAndDisabled) {
  for (const auto& [argument, said] :
       {std::pair{"returns", " returned 7: the disk of the hook is full"},
        std::pair{"throws", " threw an exception: thrown by the hook"},
        std::pair{"fails to open", " returned 5: it will not open"}}) {
    OwnHook own;
    HookRunner& runner =
        own.Start("kind = \"library\"\npath = \"" MURMURATE_FAILING_HOOK "\"\nargument = \"" +
                  std::string(argument) + "\"\n");
    own.Post(AfterBatch(10));
    EXPECT_TRUE(own.Eventually([&] { return own.Count(kHookFailures) == 1; })) << argument;
    for (int i = 0; i < 5; ++i) own.Post(AfterBatch(20));
    EXPECT_TRUE(own.Finish());
    EXPECT_EQ(own.Count(kHookFailures), 1u) << argument;
    EXPECT_THAT(own.log(), HasSubstr(std::string(MURMURATE_FAILING_HOOK) + said)) << argument;
    EXPECT_THAT(runner.Report()[kHookState].text(), HasSubstr("disabled: ")) << argument;
  }
}

TEST(LibraryHook, OneWithoutOpenIsClosedOnceOnItsOwnThread) {
  void* const library = dlopen(MURMURATE_CLOSING_HOOK, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto* const times = static_cast<const int*>(dlsym(library, "closed_times"));
  const auto* const thread = static_cast<const pthread_t*>(dlsym(library, "closed_on"));
  setenv("MURMURATE_TEST_EVENTS", "1", 1);
  {
    OwnHook own;
    own.Start("kind = \"library\"\npath = \"" MURMURATE_CLOSING_HOOK "\"\nend_s = 30\n");
    own.Post(AfterBatch(10));
    EXPECT_TRUE(own.Finish());
    EXPECT_EQ(own.log(), "");
    EXPECT_EQ(*times, 1) << "before its end is waited for no more";
    EXPECT_FALSE(pthread_equal(*thread, pthread_self()));
  }
  EXPECT_EQ(*times, 1);
  unsetenv("MURMURATE_TEST_EVENTS");
  dlclose(library);
}

TEST(LibraryHook, OneThatIsToldOfNoEventIsRefused) {
  OwnHook own;
  HookRunner& runner =
      own.Start("kind = \"library\"\npath = \"" MURMURATE_CLOSING_HOOK "\"\nend_s = 30\n");
  EXPECT_TRUE(own.Finish());
  EXPECT_THAT(own.log(), HasSubstr(": its table has no function for an event; set one, such as "
                                   "after_batch"));
  EXPECT_THAT(runner.Report()[kHookState].text(), HasSubstr("disabled: "));
}

TEST(LibraryHook, WhatIsNoneIsSaidWithTheReason) {
  OwnHook own;
  own.Write("text.so", "no library");
  HookRunner& runner = own.Start("kind = \"library\"\npath = \"text.so\"\n");
  EXPECT_TRUE(own.Finish());
  EXPECT_THAT(own.log(), HasSubstr("/text.so: cannot be loaded ("));
  EXPECT_THAT(runner.Report()[kHookState].text(), HasSubstr("disabled: "));
}

}  // namespace
}  // namespace murmurate
