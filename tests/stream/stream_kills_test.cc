// A fleet, a broker and a daemon that forecasts: whoever of the last two is killed, however often,
// in the end each message was taken once.
#include <gtest/gtest.h>

#include "tests/stream/daemon_kills.h"
#include "tests/stream/probe.h"

namespace murmurate {
namespace {

class StreamKills : public DaemonKills {
 protected:
  void SetUp() override {
    if (!Broker::Installed()) GTEST_SKIP() << Broker::kMissing;
  }
  void TearDown() override {
    if (fleet_ && HasFailure()) std::cerr << fleet_->Errors();
    DaemonKills::TearDown();
  }

  /// temp from the messages before, or from the other fields of its message.
  static constexpr const char* kAhead = "fields = [\"temp\", \"hum\", \"vib\"]\n";
  static constexpr const char* kOfItself = "fields = [\"hum\", \"vib\"]\nhorizon = 0\n";

  void Begin(std::vector<std::string> broker_lines, int seconds, bool sends_again = true,
             const std::string& fields = kAhead) {
    Broker::Options options;
    options.lines = std::move(broker_lines);
    broker_.emplace(std::move(options));
    ASSERT_TRUE(broker_->Start());
    Serve(
        "[server]\nlisten = [\"ipc\"]\n[checkpoint]\nevery_s = 0.2\n[stream.temp]\n"
        "broker = \"" +
            broker_->address() +
            "\"\nsubscribe = \"sensors/{device}/data\"\n"
            "target = \"temp\"\nsequence = \"/seq\"\ntime = \"/time\"\nhidden = 16\n"
            "committed = \"sensors/{device}/committed\"\nstatus = \"sensors/forecaster\"\n" +
            fields,
        ": connected");
    std::vector<std::string> fleet{"actor",     "sensors",
                                   "--broker",  broker_->address(),
                                   "--devices", std::to_string(kDevices),
                                   "--rate",    std::to_string(kRate),
                                   "--seconds", std::to_string(seconds)};
    if (sends_again)
      fleet.insert(fleet.end(),
                   {"--committed", "sensors/{device}/committed", "--status", "sensors/forecaster"});
    fleet_.emplace(place_.path(), fleet);
    each_ = static_cast<std::uint64_t>(kRate * seconds);
    ASSERT_TRUE(AwaitCheckpoint());
  }
  /// Lets the fleet and the daemon end in peace.
  void EndBoth() {
    ASSERT_TRUE(fleet_->running()) << "too slow: it ended before all was killed";
    ASSERT_EQ(fleet_->Wait(60), 0);
    Eventually(20, [&] { return Number("messages") + Number("gaps") >= kDevices * each_; });
    AwaitLearned();
    End();
  }
  void ExpectAllTakenOnce() {
    const std::uint64_t all = kDevices * each_;
    ExpectEachTakenOnce(kDevices, each_);
    for (int i = 0; i < kDevices; ++i) EXPECT_EQ(Saved(i, 5), 0u) << "pairs left of device " << i;
    EXPECT_EQ(at_end_["learned"].get<std::uint64_t>() + at_end_["unlearned"].get<std::uint64_t>(),
              all - kDevices);
    EXPECT_EQ(Total(3), all - kDevices) << "complete pairs";
    EXPECT_EQ(Total(4) + Total(5), all - kDevices) << "learned and not";
    for (const auto& [word, count] : at_end_["refused"].items())
      EXPECT_EQ(word, "duplicate") << count;
    std::cout << "row\t" << testing::UnitTest::GetInstance()->current_test_info()->name() << '\t'
              << all << '\t' << Total(0) << '\t' << Total(6) << '\t' << Total(4) << '\t' << Total(5)
              << '\t' << at_end_["refused"].value("duplicate", 0) << '\n';
  }

  std::optional<Broker> broker_;
  std::optional<Process> fleet_;
  std::uint64_t each_ = 0;  ///< messages of a device
};

const std::vector<std::string> kAmple{"max_queued_messages 100000"};

TEST_F(StreamKills, OfTheDaemonLoseAndDoubleNothing) {
  Begin(kAmple, 8);
  for (int i = 0; i < kKills; ++i) {
    AwaitSome();
    Kill();
    Resume();
  }
  EndBoth();
  ExpectAllTakenOnce();
}

/// Each message is a pair by itself but the first of each device, which has no label before it.
TEST_F(StreamKills, OfTheDaemonLoseAndDoubleNoMessageThatHasItsLabel) {
  Begin(kAmple, 5, /*sends_again=*/true, kOfItself);
  for (int i = 0; i < 2; ++i) {
    AwaitSome();
    Kill();
    Resume();
  }
  EndBoth();
  ExpectAllTakenOnce();
}

TEST_F(StreamKills, OfTheBrokerLoseAndDoubleNothing) {
  Begin(kAmple, 24);
  for (int i = 0; i < kKills; ++i) {
    AwaitSome();
    ASSERT_TRUE(broker_->Restart());
  }
  AwaitSome();
  EndBoth();
  ExpectAllTakenOnce();
}

TEST_F(StreamKills, WhatTheBrokersQueueDroppedIsAGap) {
  Begin({"max_inflight_messages 1", "max_queued_messages 10"}, 4, /*sends_again=*/false);
  Probe reader(SettingsFor(broker_->address(), "sensors/+/data", 0));
  ASSERT_TRUE(reader.UntilUp());
  server_->Send(SIGSTOP);
  EXPECT_TRUE(reader.UntilGot(200));
  server_->Send(SIGCONT);
  EndBoth();
  EXPECT_GT(Total(6), 0u);
  EXPECT_EQ(Total(0) + Total(6), kDevices * each_);
  for (int i = 0; i < kDevices; ++i) EXPECT_EQ(Saved(i, 1), each_);
}

}  // namespace
}  // namespace murmurate
