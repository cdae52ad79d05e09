// A fleet, a broker and a daemon that forecasts: whoever of the last two is killed, however often,
// in the end each message was taken once.
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <random>

#include "tests/server/process.h"
#include "tests/stream/probe.h"

namespace murmurate {
namespace {

constexpr std::size_t kNumbers = 11;  // words of a device in a checkpoint

using Json = nlohmann::json;

constexpr int kDevices = 5, kRate = 40, kKills = 3;

std::uint64_t Count(const Json& text) { return std::stoull(text.get<std::string>()); }

class StreamKills : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!Broker::Installed()) GTEST_SKIP() << Broker::kMissing;
  }
  void TearDown() override {
    if (server_ && HasFailure()) std::cerr << server_->Errors() << fleet_->Errors();
  }

  void Begin(std::vector<std::string> broker_lines, int seconds, bool sends_again = true) {
    Broker::Options options;
    options.lines = std::move(broker_lines);
    broker_.emplace(std::move(options));
    ASSERT_TRUE(broker_->Start());
    place_.Write(
        "sensors.toml",
        "[server]\nlisten = [\"ipc\"]\n[checkpoint]\nevery_s = 0.2\n[stream.temp]\n"
        "broker = \"" +
            broker_->address() +
            "\"\nsubscribe = \"sensors/{device}/data\"\n"
            "fields = [\"temp\", \"hum\", \"vib\"]\ntarget = \"temp\"\n"
            "sequence = \"/seq\"\ntime = \"/time\"\nhidden = 16\n"
            "committed = \"sensors/{device}/committed\"\nstatus = \"sensors/forecaster\"\n");
    server_.emplace(place_.path(), std::vector<std::string>{"serve", "sensors.toml"});
    ASSERT_TRUE(server_->Says(": connected"));
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
    ASSERT_TRUE(
        Eventually(20, [&] { return place_.Has("runs/sensors/checkpoints/latest/state.json"); }));
  }

  Json Stream() {
    const Ran ran = RunMurmurate(place_.path(), {"status", "sensors", "--json"});
    const Json said = Json::parse(ran.output, nullptr, false);
    return said.is_object() && !said["streams"].empty() ? said["streams"][0] : Json();
  }
  std::uint64_t Number(const char* key) {
    const Json stream = Stream();
    return stream.is_null() ? 0 : stream.value(key, std::uint64_t{0});
  }
  /// Until the daemon has taken some more: how many, chance says.
  void AwaitSome() {
    const std::uint64_t until =
        Number("messages") + std::uniform_int_distribution<std::uint64_t>(1, 150)(random_);
    ASSERT_TRUE(Eventually(40, [&] { return Number("messages") >= until; }));
  }
  void Resume() {
    server_->Send(SIGKILL);
    ASSERT_EQ(server_->Wait(20), 128 + SIGKILL);
    server_.emplace(place_.path(), std::vector<std::string>{"resume", "sensors"});
    ASSERT_TRUE(server_->Says(": connected"));
  }
  /// Lets the fleet and the daemon end in peace.
  void End() {
    ASSERT_TRUE(fleet_->running()) << "too slow: it ended before all was killed";
    ASSERT_EQ(fleet_->Wait(60), 0);
    Eventually(20, [&] { return Number("messages") + Number("gaps") >= kDevices * each_; });
    Eventually(10, [&] {
      return Number("learned") + Number("unlearned") >= Number("messages") - kDevices;
    });
    at_end_ = Stream();
    server_->Send(SIGINT);
    ASSERT_EQ(server_->Wait(20), 0);
    saved_ = Json::parse(place_.Read("runs/sensors/checkpoints/latest/state.json"))["words"];
  }
  /// [rows, last number, ..] of a device, as the last checkpoint has them.
  std::uint64_t Saved(int device, std::size_t which) const {
    return Count(saved_["stream.numbers"][static_cast<std::size_t>(device) * kNumbers + which]);
  }
  std::uint64_t Total(std::size_t which) const { return Count(saved_["stream.totals"][which]); }

  void ExpectEachTakenOnce() {
    const std::uint64_t all = kDevices * each_;
    ASSERT_EQ(saved_["stream.numbers"].size(), kDevices * kNumbers);
    for (int i = 0; i < kDevices; ++i) {
      EXPECT_EQ(Saved(i, 0), each_) << "rows of device " << i;
      EXPECT_EQ(Saved(i, 1), each_) << "last number of device " << i;
      EXPECT_EQ(Saved(i, 5), 0u) << "pairs left of device " << i;
    }
    EXPECT_EQ(at_end_["messages"], all);
    EXPECT_EQ(at_end_["gaps"], 0);
    EXPECT_EQ(at_end_["devices"], kDevices);
    EXPECT_EQ(at_end_["learned"].get<std::uint64_t>() + at_end_["unlearned"].get<std::uint64_t>(),
              all - kDevices);
    EXPECT_EQ(Total(0), all);
    EXPECT_EQ(Total(3), all - kDevices) << "complete pairs";
    EXPECT_EQ(Total(4) + Total(5), all - kDevices) << "learned and not";
    EXPECT_EQ(Total(6), 0u) << "gaps";
    for (const auto& [word, count] : at_end_["refused"].items())
      EXPECT_EQ(word, "duplicate") << count;
    std::cout << "row\t" << testing::UnitTest::GetInstance()->current_test_info()->name() << '\t'
              << all << '\t' << Total(0) << '\t' << Total(6) << '\t' << Total(4) << '\t' << Total(5)
              << '\t' << at_end_["refused"].value("duplicate", 0) << '\n';
  }

  std::mt19937 random_{std::random_device()()};
  Workplace place_;
  std::optional<Broker> broker_;
  std::optional<Process> server_, fleet_;
  std::uint64_t each_ = 0;  ///< messages of a device
  Json at_end_, saved_;
};

const std::vector<std::string> kAmple{"max_queued_messages 100000"};

TEST_F(StreamKills, OfTheDaemonLoseAndDoubleNothing) {
  Begin(kAmple, 8);
  for (int i = 0; i < kKills; ++i) {
    AwaitSome();
    Resume();
  }
  End();
  ExpectEachTakenOnce();
}

TEST_F(StreamKills, OfTheBrokerLoseAndDoubleNothing) {
  Begin(kAmple, 24);
  for (int i = 0; i < kKills; ++i) {
    AwaitSome();
    ASSERT_TRUE(broker_->Restart());
  }
  AwaitSome();
  End();
  ExpectEachTakenOnce();
}

TEST_F(StreamKills, WhatTheBrokersQueueDroppedIsAGap) {
  Begin({"max_inflight_messages 1", "max_queued_messages 10"}, 4, /*sends_again=*/false);
  Probe reader(SettingsFor(broker_->address(), "sensors/+/data", 0));
  ASSERT_TRUE(reader.UntilUp());
  server_->Send(SIGSTOP);
  EXPECT_TRUE(reader.UntilGot(200));
  server_->Send(SIGCONT);
  End();
  EXPECT_GT(Total(6), 0u);
  EXPECT_EQ(Total(0) + Total(6), kDevices * each_);
  for (int i = 0; i < kDevices; ++i) EXPECT_EQ(Saved(i, 1), each_);
}

}  // namespace
}  // namespace murmurate
