#include "examples/sensors/fleet/fleet_sender.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "shared/core/clock.h"

namespace murmurate {
namespace {

constexpr std::int64_t kSecond = kNanosecondsPerSecond;
constexpr int kAll = 1'000'000;

/// A sender of two pumps, and what it sent: by topic, in order.
class Stage {
 public:
  explicit Stage(double rate, std::optional<double> drift_at_s = {}) {
    FleetSender::Settings settings;
    settings.rate = rate;
    settings.began_unix_ns = 1'700'000'000 * kSecond;
    settings.drift_at_s = drift_at_s;
    sender.emplace(fleet, settings, [this](const FleetMessage& message) {
      if (room == 0) return false;
      --room;
      std::string payload;
      WriteFleetPayload(message, &payload);
      taken[Fleet::NameOf(message.device)].push_back(nlohmann::json::parse(payload));
      return true;
    });
  }

  std::vector<int> Numbers(const std::string& pump) {
    std::vector<int> numbers;
    for (const auto& message : taken[pump]) numbers.push_back(message["seq"]);
    return numbers;
  }

  const Fleet fleet{{.devices = 2, .seed = 1, .noise = 0.2}};
  int room = kAll;
  std::map<std::string, std::vector<nlohmann::json>> taken;
  std::optional<FleetSender> sender;
};

using Ints = std::vector<int>;

TEST(FleetSender, SendsWhatIsDueWithoutGaps) {
  Stage stage(2);  // pump-1 at 0, 0.5, 1...; pump-2 a quarter later
  EXPECT_EQ(stage.sender->Send(kSecond / 4, kAll), 1);
  EXPECT_EQ(stage.sender->NextDueNs(), kSecond / 4);
  EXPECT_EQ(stage.sender->Send(2 * kSecond, kAll), 7);
  EXPECT_EQ(stage.Numbers("pump-1"), (Ints{1, 2, 3, 4}));
  EXPECT_EQ(stage.Numbers("pump-2"), (Ints{1, 2, 3, 4}));
  EXPECT_TRUE(stage.sender->SentAll(2 * kSecond));
  EXPECT_FALSE(stage.sender->SentAll(2 * kSecond + 1));
  EXPECT_EQ(stage.sender->sent(), 8u);
}

TEST(FleetSender, AMessageSaysWhatItsPumpDoesAndWhen) {
  Stage stage(2);
  stage.sender->Send(kSecond, kAll);
  const auto message = stage.taken["pump-2"].at(1);
  const PumpReading reading = stage.fleet.At(1, 2, false);
  EXPECT_NEAR(message["temp"].get<double>(), reading.temp, 5e-5);
  EXPECT_NEAR(message["hum"].get<double>(), reading.hum, 5e-5);
  EXPECT_NEAR(message["vib"].get<double>(), reading.vib, 5e-5);
  EXPECT_NEAR(message["time"].get<double>(), 1'700'000'000.75, 1e-6);
}

TEST(FleetSender, WhatFindsNoRoomGoesLaterAsItWas) {
  Stage stage(10), calm(10);
  calm.sender->Send(kSecond, kAll);
  stage.room = 3;
  EXPECT_EQ(stage.sender->Send(kSecond, kAll), 3);
  EXPECT_EQ(stage.sender->NextDueNs(), 3 * kSecond / 20);  // of pump-2: its second
  stage.room = kAll;
  EXPECT_EQ(stage.sender->Send(kSecond, kAll), 17);
  EXPECT_EQ(stage.taken, calm.taken);
}

TEST(FleetSender, NoPumpIsMoreThanOneMessageAheadOfAnother) {
  Stage stage(0);
  EXPECT_EQ(stage.sender->Send(kSecond, 7), 7);
  EXPECT_EQ(stage.Numbers("pump-1"), (Ints{1, 2, 3, 4}));
  EXPECT_EQ(stage.Numbers("pump-2"), (Ints{1, 2, 3}));
}

TEST(FleetSender, SendsAgainWhatIsNotCommitted) {
  Stage stage(1), calm(1);
  stage.sender->Send(4 * kSecond, kAll);
  stage.sender->OnCommitted(0, 2);
  stage.sender->SendAgain();
  stage.sender->Send(5 * kSecond, kAll);
  EXPECT_EQ(stage.Numbers("pump-1"), (Ints{1, 2, 3, 4, 3, 4, 5}));
  EXPECT_EQ(stage.Numbers("pump-2"), (Ints{1, 2, 3, 4, 1, 2, 3, 4, 5}));
  EXPECT_EQ(stage.sender->sent(), 10u);
  EXPECT_EQ(stage.sender->sent_again(), 6u);
  const auto& first = stage.taken["pump-1"];
  EXPECT_EQ(first[2], first[4]);  // as it was, its time too
}

TEST(FleetSender, WhatIsCommittedMeanwhileIsNotSentAgain) {
  Stage stage(1);
  stage.sender->Send(4 * kSecond, kAll);
  stage.sender->SendAgain();
  stage.sender->OnCommitted(0, 3);
  stage.sender->Send(4 * kSecond, kAll);
  EXPECT_EQ(stage.Numbers("pump-1"), (Ints{1, 2, 3, 4, 4}));
}

TEST(FleetSender, ALearnerThatWentBackGetsWhatItLost) {
  Stage stage(1);
  stage.sender->Send(4 * kSecond, kAll);
  stage.sender->OnCommitted(0, 3);
  stage.sender->OnCommitted(0, 1);
  stage.sender->Send(4 * kSecond, kAll);
  EXPECT_EQ(stage.Numbers("pump-1"), (Ints{1, 2, 3, 4, 2, 3, 4}));
}

TEST(FleetSender, GoesOnWhereAnEarlierFleetEnded) {
  Stage stage(1);
  stage.sender->OnCommitted(0, 100);
  stage.sender->Send(2 * kSecond, kAll);
  EXPECT_EQ(stage.Numbers("pump-1"), (Ints{101, 102}));
  EXPECT_EQ(stage.taken["pump-1"][0]["time"], 1'700'000'000.0);
  stage.sender->OnCommitted(0, 50);  // the earlier fleet's messages are not ours to make
  stage.sender->Send(2 * kSecond, kAll);
  EXPECT_EQ(stage.Numbers("pump-1"), (Ints{101, 102, 101, 102}));
}

TEST(FleetSender, DriftsAtItsMoment) {
  Stage stage(1, 2.0);
  stage.sender->Send(4 * kSecond, kAll);
  const auto& messages = stage.taken["pump-1"];
  EXPECT_NEAR(messages[1]["temp"].get<double>(), stage.fleet.At(0, 2, false).temp, 5e-5);
  EXPECT_NEAR(messages[2]["temp"].get<double>(), stage.fleet.At(0, 3, true).temp, 5e-5);
}

}  // namespace
}  // namespace murmurate
