// A daemon of one stream that is killed and goes on, and what it says of itself; the tests differ
// in who sends it what.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/server/process.h"

namespace murmurate {

class DaemonKills : public ::testing::Test {
 protected:
  using Json = nlohmann::json;

  /// What a fleet sends: messages a second of each device.
  static constexpr int kDevices = 5, kRate = 40, kKills = 3;
  static constexpr std::size_t kNumbers = 11;  ///< words of a device in a checkpoint

  void TearDown() override {
    if (server_ && HasFailure()) std::cerr << server_->Errors();
  }

  /// `ready`: what it says when it can be sent to.
  void Serve(const std::string& config, const std::string& ready) {
    ready_ = ready;
    place_.Write("sensors.toml", config);
    server_.emplace(place_.path(), std::vector<std::string>{"serve", "sensors.toml"});
    ASSERT_TRUE(server_->Says(ready_)) << server_->Errors();
  }
  void Kill() {
    server_->Send(SIGKILL);
    ASSERT_EQ(server_->Wait(20), 128 + SIGKILL);
  }
  void Resume() {
    server_.emplace(place_.path(), std::vector<std::string>{"resume", "sensors"});
    ASSERT_TRUE(server_->Says(ready_)) << server_->Errors();
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
  bool AwaitCheckpoint() {
    return Eventually(20, [&] { return place_.Has("runs/sensors/checkpoints/latest/state.json"); });
  }
  /// Until the daemon has taken some more: how many, chance says.
  void AwaitSome() {
    const std::uint64_t until =
        Number("messages") + std::uniform_int_distribution<std::uint64_t>(1, 150)(random_);
    ASSERT_TRUE(Eventually(40, [&] { return Number("messages") >= until; }));
  }
  /// Until every pair but the last of each device was learned from, or will never be.
  bool AwaitLearned() {
    return Eventually(10, [&] {
      return Number("learned") + Number("unlearned") >= Number("messages") - kDevices;
    });
  }
  /// Ends the daemon in peace, with what it said last and what its last checkpoint counts.
  void End() {
    at_end_ = Stream();
    server_->Send(SIGINT);
    ASSERT_EQ(server_->Wait(20), 0) << server_->Errors();
    saved_ = Json::parse(place_.Read("runs/sensors/checkpoints/latest/state.json"))["words"];
  }
  static std::uint64_t Count(const Json& text) { return std::stoull(text.get<std::string>()); }
  /// [rows, last number, ..] of a device, as the last checkpoint has them.
  std::uint64_t Saved(int device, std::size_t which) const {
    return Count(saved_["stream.numbers"][static_cast<std::size_t>(device) * kNumbers + which]);
  }
  std::uint64_t Total(std::size_t which) const { return Count(saved_["stream.totals"][which]); }
  /// Each of `devices` sent the numbers 1 to `each`, and all of them were taken once.
  void ExpectEachTakenOnce(int devices, std::uint64_t each) const {
    const std::uint64_t all = static_cast<std::uint64_t>(devices) * each;
    ASSERT_EQ(saved_["stream.numbers"].size(), static_cast<std::size_t>(devices) * kNumbers);
    for (int i = 0; i < devices; ++i) {
      EXPECT_EQ(Saved(i, 0), each) << "rows of device " << i;
      EXPECT_EQ(Saved(i, 1), each) << "last number of device " << i;
    }
    EXPECT_EQ(at_end_["messages"], all);
    EXPECT_EQ(at_end_["gaps"], 0);
    EXPECT_EQ(at_end_["devices"], devices);
    EXPECT_EQ(Total(0), all);
    EXPECT_EQ(Total(6), 0u) << "gaps";
  }

  std::mt19937 random_{std::random_device()()};
  Workplace place_;
  std::optional<Process> server_;
  std::string ready_;
  Json at_end_, saved_;
};

}  // namespace murmurate
