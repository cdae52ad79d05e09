// The parts of a service, each alone: notices and signs of life, the log, reloading.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <thread>

#include "server/daemon/life_signs.h"
#include "server/daemon/reloading.h"
#include "server/daemon/run_log.h"
#include "shared/core/clock.h"
#include "tests/operate/temporary_folder.h"
#include "tests/server/config_text.h"
#include "tests/server/service_stage.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// The environment of a service while it lives.
class Managed {
 public:
  Managed(const std::string& socket, const char* watchdog_us, const char* watchdog_pid = nullptr) {
    setenv("NOTIFY_SOCKET", socket.c_str(), 1);
    if (watchdog_us != nullptr) setenv("WATCHDOG_USEC", watchdog_us, 1);
    if (watchdog_pid != nullptr) setenv("WATCHDOG_PID", watchdog_pid, 1);
  }
  ~Managed() {
    for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) unsetenv(name);
  }
};

TEST(ServiceNotice, ReachesASocketOfAPathAndAnAbstractOne) {
  const TemporaryFolder folder;
  for (const std::string& name :
       {folder.path() + "/notify", "@murmurate-test-" + std::to_string(getpid())}) {
    const NotifySocket manager(name);
    ASSERT_TRUE(manager.good()) << name;
    const Managed managed(name, nullptr);
    const ServiceNotice notice;
    EXPECT_TRUE(notice.connected());
    notice.Send("READY=1\nSTATUS=x");
    EXPECT_EQ(manager.Next(1000), "READY=1\nSTATUS=x");
  }
}

TEST(ServiceNotice, SaysNothingWithoutAManagerAndOutlivesOneThatIsGone) {
  const ServiceNotice alone;
  EXPECT_FALSE(alone.connected());
  alone.Send("READY=1");
  const Managed managed("/nowhere/notify", "1000000");
  const ServiceNotice gone;
  gone.Send("READY=1");
  EXPECT_EQ(gone.watchdog_ns(), kNanosecondsPerSecond);
}

TEST(ServiceNotice, IsWatchedOnlyWhereTheManagerMeansThisProcess) {
  const std::string name = "@murmurate-watch-" + std::to_string(getpid());
  const std::pair<const char*, const char*> others[] = {
      {nullptr, nullptr}, {"5000000", "1"}, {"0", nullptr}, {"-5", nullptr}, {"soon", nullptr}};
  for (const auto& [interval, pid] : others) {
    const Managed managed(name, interval, pid);
    EXPECT_EQ(ServiceNotice().watchdog_ns(), std::nullopt) << (interval ? interval : "none");
  }
  const Managed managed(name, "5000000", std::to_string(getpid()).c_str());
  EXPECT_EQ(ServiceNotice().watchdog_ns(), 5 * kNanosecondsPerSecond);
}

class LifeSignsTest : public ::testing::Test {
 protected:
  static constexpr std::int64_t kSecond = kNanosecondsPerSecond;
  const std::string name_ = "@murmurate-life-" + std::to_string(getpid());
  const NotifySocket manager_{name_};
  const Managed managed_{name_, "8000000"};
  const ServiceNotice notice_;
  LifeSigns life_{&notice_};
};

TEST_F(LifeSignsTest, ComeWhileIngestTurnsAndNoBatchTakesLongerThanTheWatchdogWaits) {
  life_.IngestTurned(100 * kSecond);
  life_.OperateTurned(101 * kSecond, 0.0);
  EXPECT_EQ(manager_.Next(1000), "WATCHDOG=1");
  life_.OperateTurned(103 * kSecond, 7.9);
  EXPECT_EQ(manager_.Next(1000), "WATCHDOG=1");
  life_.OperateTurned(105 * kSecond, 8.1);
  EXPECT_EQ(manager_.Next(0), "") << "a batch hangs";
  life_.OperateTurned(107 * kSecond, 0.0);
  EXPECT_EQ(manager_.Next(1000), "WATCHDOG=1");
  life_.OperateTurned(109 * kSecond, 0.0);
  EXPECT_EQ(manager_.Next(0), "") << "ingest hangs";
}

TEST_F(LifeSignsTest, AreFewAndTheThreadsWakeOftenEnoughForThem) {
  EXPECT_EQ(life_.MostWaitMs(10'000), 2000);
  EXPECT_EQ(life_.MostWaitMs(500), 500);
  life_.OperateTurned(100 * kSecond, 0);
  for (int i = 1; i < 10; ++i) life_.OperateTurned(100 * kSecond + i, 0);
  EXPECT_EQ(manager_.Next(1000), "WATCHDOG=1");
  EXPECT_EQ(manager_.Next(0), "");
}

TEST_F(LifeSignsTest, AStatusIsSentWhenItIsAnotherAndNotMoreOftenThanEveryTwoSeconds) {
  life_.Say(1 * kSecond, "a");
  life_.Say(2 * kSecond, "b");
  life_.Say(4 * kSecond, "b");
  life_.Say(8 * kSecond, "b");
  EXPECT_EQ(manager_.Next(1000), "STATUS=a");
  EXPECT_EQ(manager_.Next(1000), "STATUS=b");
  EXPECT_EQ(manager_.Next(0), "");
}

std::vector<std::string> LinesOf(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

class RunLogTest : public ::testing::Test {
 protected:
  Log Open(const LogSettings& settings) {
    auto log = Log::Open(folder_.path(), "pole", settings, &display_, LogLevel::kError);
    EXPECT_TRUE(log.ok()) << log.status();
    return *std::move(log);
  }
  std::vector<std::string> Lines(const char* file = "log.txt") const {
    return LinesOf(folder_.path() + '/' + file);
  }

  const TemporaryFolder folder_;
  Display display_{Display::Mode::kQuiet};
};

TEST_F(RunLogTest, ALineOfTextHasTimeLevelThreadAndSentence) {
  const Log log = Open({});
  std::thread speaker([say = log.callback()] {
    pthread_setname_np(pthread_self(), "mmr-test");
    say(LogLevel::kWarning, "it rains");
  });
  speaker.join();
  const auto lines = Lines();
  ASSERT_FALSE(lines.empty());
  EXPECT_TRUE(std::regex_match(
      lines[0], std::regex(R"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} warning mmr-test: it rains)")))
      << lines[0];
}

TEST_F(RunLogTest, ALineOfJsonHasItsFieldsWhateverTheSentence) {
  const Log log = Open({.format = LogFormat::kJson});
  log.callback()(LogLevel::kInfo, "a \"quote\"\nand \xff bytes");
  const auto lines = Lines();
  ASSERT_EQ(lines.size(), 1u);
  const auto line = nlohmann::json::parse(lines[0]);
  EXPECT_EQ(line["level"], "info");
  EXPECT_EQ(line["run"], "pole");
  EXPECT_EQ(line["message"], "a \"quote\"\nand \xef\xbf\xbd bytes");
  EXPECT_NE(line["component"], "");
  EXPECT_TRUE(std::regex_match(line["time"].get<std::string>(),
                               std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)")));
}

TEST_F(RunLogTest, WhatIsBelowTheLevelIsNotWrittenUntilTheLevelChanges) {
  Log log = Open({.level = LogLevel::kWarning});
  const LogCallback say = log.callback();
  say(LogLevel::kInfo, "quiet");
  say(LogLevel::kWarning, "loud");
  log.SetLevel(LogLevel::kInfo);
  say(LogLevel::kInfo, "now");
  const auto lines = Lines();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[0], HasSubstr("loud"));
  EXPECT_THAT(lines[1], HasSubstr("now"));
}

TEST_F(RunLogTest, IsRotatedBySizeAndKeepsSoManyFiles) {
  const Log log = Open({.max_bytes = 4096, .keep = 2});
  for (int i = 0; i < 200; ++i) log.callback()(LogLevel::kInfo, "line " + std::string(90, 'x'));
  for (const char* file : {"log.txt", "log.1.txt", "log.2.txt"}) {
    EXPECT_TRUE(fs::exists(folder_.path() + '/' + file)) << file;
    EXPECT_LE(fs::file_size(folder_.path() + '/' + file), 4096u) << file;
  }
  EXPECT_FALSE(fs::exists(folder_.path() + "/log.3.txt"));
}

class ReloadingTest : public ::testing::Test {
 protected:
  /// What a running `before` does when its config is `after`.
  void Reload(const std::string& before, const std::vector<std::string>& after) {
    const auto running = Load(before);
    ASSERT_TRUE(running.ok()) << running.status();
    ReloadTargets targets;
    targets.set = [this](const std::string& assignment) -> Result<std::string> {
      done_.push_back("set " + assignment);
      if (assignment == refused_) return InvalidArgument("not " + assignment);
      return assignment;
    };
    targets.stop_rules = [this](const RunSettings& run) {
      done_.push_back("stop at " + std::to_string(run.stop_at_return.value_or(0)));
    };
    targets.max_disk = [this](std::optional<std::uint64_t> bytes) {
      done_.push_back("disk " + (bytes ? std::to_string(*bytes) : "unbounded"));
    };
    targets.log_level = [this](LogLevel level) {
      done_.push_back("level " + std::to_string(static_cast<int>(level)));
    };
    Reloading reloading(*running, std::move(targets),
                        [this](LogLevel, std::string_view line) { log_.emplace_back(line); });
    for (const std::string& text : after) reloading.Apply(Load(text));
  }

  std::vector<std::string> done_, log_;
  std::string refused_;
};

TEST_F(ReloadingTest, WhatMayChangeIsDoneOnceAndSaidInOneLine) {
  const std::string after =
      "[run]\nstop_at_return = 480\nmax_disk = \"1GB\"\n[optimizer]\nlearning_rate = 1e-4\n"
      "[settings]\nwind = 3\n[log]\nlevel = \"warning\"\n";
  Reload("[run]\nstop_at_return = 475\n[settings]\nwind = 1\n", {after, after});
  EXPECT_THAT(done_, ElementsAre("level 1", "set optimizer.learning_rate=1e-04", "disk 1000000000",
                                 "stop at 480.000000", "set settings.wind=3.0"));
  ASSERT_EQ(log_.size(), 2u);
  EXPECT_THAT(log_[0], HasSubstr("run.stop_at_return: 475.0 -> 480.0"));
  EXPECT_EQ(log_[1], "reload: nothing changes");
}

TEST_F(ReloadingTest, WhatCannotChangeIsNamedInOneLineAndStays) {
  Reload("[model]\nlayers = [8]\n", {"[model]\nlayers = [16]\n[run]\nseed = 4\n[settings]\nnew = "
                                     "{from = 0, to = 1, steps = 9}\n"});
  EXPECT_THAT(done_, IsEmpty());
  ASSERT_EQ(log_.size(), 2u);
  EXPECT_EQ(log_[1],
            "reload: cannot change while the learner runs: model.layers, run.seed, settings.new; "
            "stop it and start it again with `murmurate serve --resume`");
}

TEST_F(ReloadingTest, ABrokenFileChangesNothing) {
  Reload("", {"[run]\nstop_at_return = 480\nseeed = 4\n"});
  EXPECT_THAT(done_, IsEmpty());
  EXPECT_THAT(log_, ElementsAre("reload: nothing was changed: c.toml:3: unknown key \"seeed\" in "
                                "[run]; did you mean \"seed\"?"));
}

TEST_F(ReloadingTest, WhatIsTakenOutIsUnset) {
  Reload("[run]\nstop_at_return = 475\nmax_disk = \"1GB\"\n", {""});
  EXPECT_THAT(done_, ElementsAre("disk unbounded", "stop at 0.000000"));
}

TEST_F(ReloadingTest, ARateThatIsRefusedIsTriedAgainByTheNextReload) {
  refused_ = "optimizer.learning_rate=1e-04";
  const std::string after = "[optimizer]\nlearning_rate = 1e-4\n";
  Reload("", {after, after});
  EXPECT_THAT(done_, ElementsAre("set " + refused_, "set " + refused_));
  EXPECT_THAT(log_[1], HasSubstr("reload: refused: not " + refused_));
}

TEST_F(ReloadingTest, ARateOfAllLeavesAModelWithItsOwnAtThat) {
  const std::string own = "[model.npc.optimizer]\nlearning_rate = 5e-5\n";
  Reload(own, {own + "[optimizer]\nlearning_rate = 1e-4\n"});
  EXPECT_THAT(done_, ElementsAre("set optimizer.learning_rate=1e-04",
                                 "set model.npc.optimizer.learning_rate=5e-05"));
}

}  // namespace
}  // namespace murmurate
