// A link and something that is no broker, or half of one.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include "server/stream/mqtt_link.h"
#include "shared/core/random.h"
#include "tests/stream/probe.h"
#include "tests/stream/scripted_broker.h"

namespace murmurate {
namespace {

using testing::HasSubstr;
using namespace std::string_view_literals;

constexpr std::string_view kAccepted = "\x20\x02\x00\x00"sv;        // CONNACK of MQTT 3.1.1
constexpr std::string_view kSubscribed = "\x90\x03\x00\x01\x01"sv;  // SUBACK of packet 1, qos 1

MqttSettings Old(const ScriptedBroker& broker, const std::string& filter = "") {
  MqttSettings settings = SettingsFor(broker.address(), filter);
  settings.protocol = MqttProtocol::k311;
  return settings;
}

/// Connected, and whatever the link said first has been read.
bool Meet(Probe& probe, ScriptedBroker& broker, std::string* said = nullptr) {
  if (!probe.Until([&] { return broker.Accept(); })) return false;
  std::string all;
  const bool spoke = probe.Until([&] { return !(all += broker.Read()).empty(); });
  if (said != nullptr) *said = all;
  return spoke;
}

bool Greet(Probe& probe, ScriptedBroker& broker) {
  if (!Meet(probe, broker)) return false;
  broker.Send(kAccepted);
  return probe.UntilUp();
}

TEST(MqttFaults, GivesUpWhoNeverAnswers) {
  ScriptedBroker broker;
  Probe probe(Old(broker));
  ASSERT_TRUE(Meet(probe, broker));
  probe.Ahead(9);
  probe.link->PollOnce(0);
  EXPECT_EQ(probe.link->counters().failed_attempts, 0u);
  probe.Ahead(1);
  ASSERT_TRUE(probe.Until([&] { return !probe.states.empty(); }));
  EXPECT_THAT(probe.Trouble(), HasSubstr("has not answered for 10 s"));
  EXPECT_EQ(probe.link->counters().failed_attempts, 1u);
}

TEST(MqttFaults, GivesUpWhoNeverAnswersASubscription) {
  ScriptedBroker broker;
  Probe probe(Old(broker, "a"));
  ASSERT_TRUE(Meet(probe, broker));
  broker.Send(kAccepted);
  std::string said;
  ASSERT_TRUE(probe.Until([&] { return !(said += broker.Read()).empty(); }));
  EXPECT_EQ(said.substr(0, 1), "\x82");  // SUBSCRIBE
  EXPECT_FALSE(probe.link->up());
  EXPECT_EQ(probe.link->Publish("a", "b"), PublishOutcome::kDown);
  probe.Ahead(11);
  ASSERT_TRUE(probe.Until([&] { return !probe.states.empty(); }));
  EXPECT_THAT(probe.Trouble(), HasSubstr("has not answered for 10 s"));
}

TEST(MqttFaults, SaysWhichSubscriptionWasRefused) {
  ScriptedBroker broker;
  Probe probe(Old(broker, "secret/#"));
  ASSERT_TRUE(Meet(probe, broker));
  broker.Send(kAccepted);
  broker.Send("\x90\x03\x00\x01\x80"sv);
  ASSERT_TRUE(probe.Until([&] { return !probe.states.empty(); }));
  EXPECT_THAT(probe.Trouble(), HasSubstr("refused the subscription to 'secret/#'"));
}

TEST(MqttFaults, SaysWhichProtocolABrokerWants) {
  ScriptedBroker broker;
  Probe probe(SettingsFor(broker.address()));
  ASSERT_TRUE(Meet(probe, broker));
  broker.Send("\x20\x02\x00\x01"sv);  // an old broker's answer to MQTT 5
  ASSERT_TRUE(probe.Until([&] { return !probe.states.empty(); }));
  EXPECT_THAT(probe.Trouble(), HasSubstr("set protocol to 3.1.1"));
}

TEST(MqttFaults, NoticesAnOrderlyAndAnAbortiveEnd) {
  ScriptedBroker broker;
  Probe probe(Old(broker, "a"));
  for (int round = 0; round < 4; ++round) {
    ASSERT_TRUE(Meet(probe, broker));
    broker.Send(kAccepted);
    broker.Send(kSubscribed);
    ASSERT_TRUE(probe.UntilUp());
    round % 2 == 0 ? broker.HangUp() : broker.Reset();
    ASSERT_TRUE(probe.UntilDown());
    EXPECT_THAT(probe.Trouble(), HasSubstr(round % 2 == 0 ? "closed the connection" : "reset by"));
    probe.Ahead(31);
  }
  EXPECT_EQ(probe.link->counters().losses, 4u);
}

TEST(MqttFaults, SaysThatWhoClosesAtOnceMayBeNoBroker) {
  ScriptedBroker broker;
  Probe probe(Old(broker));
  ASSERT_TRUE(Meet(probe, broker));
  broker.HangUp();
  ASSERT_TRUE(probe.Until([&] { return !probe.states.empty(); }));
  EXPECT_THAT(probe.Trouble(), HasSubstr("is it a broker, and without TLS?"));
}

TEST(MqttFaults, WaitsLongerAndLongerForAnAbsentBroker) {
  ScriptedBroker absent;
  absent.StopListening();
  Probe probe(Old(absent));
  const MqttCounters& counters = probe.link->counters();
  probe.link->PollOnce(0);
  EXPECT_EQ(counters.failed_attempts, 1u);
  probe.link->PollOnce(0);
  EXPECT_EQ(counters.failed_attempts, 2u);  // at once after the first
  // After failure n the wait is in [w/2, w], w = 2, 4, 8, 16, 30, 30 (reconnect_delay.h); the clock
  // of the machine itself runs for less than a second here.
  std::uint64_t failed = 2;
  for (const int longest : {2, 4, 8, 16, 30, 30}) {
    const std::int64_t shortly = longest * kNanosecondsPerSecond / 2 - kNanosecondsPerSecond / 2;
    probe.ahead_ns += shortly;
    probe.link->PollOnce(0);
    EXPECT_EQ(counters.failed_attempts, failed) << "too early at " << longest;
    probe.ahead_ns += longest * kNanosecondsPerSecond - shortly;
    probe.link->PollOnce(0);
    EXPECT_EQ(counters.failed_attempts, ++failed) << "too late at " << longest;
  }
}

TEST(MqttFaults, ASlowBrokerNeverMakesMemoryGrow) {
  ScriptedBroker broker;
  MqttSettings settings = Old(broker);
  settings.maximum_in_flight = 500;
  Probe probe(settings);
  ASSERT_TRUE(Greet(probe, broker));
  // It reads nothing: what its and our sockets hold is taken, then 500 messages wait.
  const std::string payload(10'000, 'x');
  std::uint64_t accepted = 0;
  for (int i = 0; i < 20'000; ++i) {
    accepted += probe.link->Publish("a", payload) == PublishOutcome::kAccepted;
    if (i % 100 == 0) probe.link->PollOnce(0);
  }
  const MqttCounters& counters = probe.link->counters();
  EXPECT_EQ(counters.published, accepted);
  EXPECT_EQ(counters.refused_full, 20'000 - accepted);
  EXPECT_LT(accepted, 2000u);  // 20 MB of the 200: sockets hold up to 4 MB written, 6 MB unread
  EXPECT_TRUE(probe.link->up());
  std::string read;
  ASSERT_TRUE(probe.Until([&] {  // it awakes: all that was accepted arrives
    read += broker.Read();
    return read.size() >= accepted * (payload.size() + 3 + 3);
  }));
  EXPECT_EQ(read.size(), accepted * (payload.size() + 3 + 3));  // fixed header 4 - 1, topic 3
  EXPECT_EQ(probe.link->Publish("a", "b"), PublishOutcome::kAccepted);
}

TEST(MqttFaults, CountsWhatALossTookAlong) {
  ScriptedBroker broker;
  Probe probe(Old(broker));
  ASSERT_TRUE(Greet(probe, broker));
  for (int i = 0; i < 7; ++i) (void)probe.link->Publish("a", "b", 1);
  probe.link->PollOnce(0);
  broker.Send("\x40\x02\x00\x01"sv);  // PUBACK of the first
  probe.link->PollOnce(100);
  broker.HangUp();
  ASSERT_TRUE(probe.UntilDown());
  EXPECT_EQ(probe.link->counters().dropped, 6u);
}

std::string Rubbish(std::uint64_t seed) {
  Random random(seed);
  std::string bytes(1 + random.UniformInt(4000), '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.UniformInt(256));
  // Half of them begin as a broker would, so that the rubbish is read as packets.
  return random.UniformInt(2) == 0 ? bytes : std::string(kAccepted) + bytes;
}

TEST(MqttFaults, SurvivesAServerThatAnswersRubbish) {
  for (const MqttProtocol protocol : {MqttProtocol::k311, MqttProtocol::k5}) {
    ScriptedBroker broker;
    MqttSettings settings = Old(broker, "a");
    settings.protocol = protocol;
    Probe probe(settings);
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
      ASSERT_TRUE(Meet(probe, broker)) << seed;
      broker.Send(Rubbish(seed));
      for (int i = 0; i < 5; ++i) probe.link->PollOnce(1);
      broker.HangUp();
      const std::uint64_t lost = seed;
      ASSERT_TRUE(probe.Until([&] {
        return probe.link->counters().failed_attempts + probe.link->counters().losses >= lost;
      })) << seed;
      probe.Ahead(31);
    }
    EXPECT_FALSE(probe.states.empty());
  }
}

TEST(MqttFaults, SurvivesTruncatedPackets) {
  const std::string session = std::string(kAccepted) + std::string(kSubscribed) +
                              std::string("\x30\x06\x00\x01\x61\x31\x32\x33"sv) +  // a: 123
                              std::string("\xd0\x00"sv);                           // PINGRESP
  ScriptedBroker broker;
  Probe probe(Old(broker, "a"));
  for (std::size_t length = 0; length <= session.size(); ++length) {
    ASSERT_TRUE(Meet(probe, broker)) << length;
    const std::uint64_t before =
        probe.link->counters().failed_attempts + probe.link->counters().losses;
    for (std::size_t i = 0; i < length; ++i) {
      broker.Send(session.substr(i, 1));
      probe.link->PollOnce(1);
    }
    broker.HangUp();
    ASSERT_TRUE(probe.Until([&] {
      return probe.link->counters().failed_attempts + probe.link->counters().losses > before;
    })) << length;
    probe.Ahead(31);
  }
  // The message is whole at the last three lengths.
  ASSERT_EQ(probe.got.size(), 3u);
  EXPECT_EQ(probe.got[0], (Probe::Got{"a", "123", 0, false}));
}

TEST(MqttFaults, SurvivesRubbishWhereTlsIsExpected) {
  ScriptedBroker broker;
  Probe probe(SettingsFor(broker.address("mqtts")));
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    ASSERT_TRUE(Meet(probe, broker)) << seed;
    broker.Send(Rubbish(seed));
    if (seed % 2 == 0) broker.HangUp();
    ASSERT_TRUE(probe.Until([&] { return probe.link->counters().failed_attempts >= seed; }));
    probe.Ahead(31);
  }
  EXPECT_THAT(probe.states[0].second, HasSubstr("TLS failed"));
}

TEST(MqttFaults, WaitsQuietlyForAServerThatNeverAnswersTls) {
  ScriptedBroker broker;
  Probe probe(SettingsFor(broker.address("mqtts")));
  std::string hello;
  ASSERT_TRUE(Meet(probe, broker, &hello));
  EXPECT_EQ(hello.substr(0, 1), "\x16");  // a TLS handshake record
  rusage before{}, after{};
  getrusage(RUSAGE_THREAD, &before);
  for (int i = 0; i < 3; ++i) probe.link->PollOnce(50);
  getrusage(RUSAGE_THREAD, &after);
  EXPECT_LE(after.ru_nvcsw - before.ru_nvcsw, 20) << "it turns instead of waiting";
  const auto cpu_ms = [](const rusage& usage) {
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
           (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
  };
  EXPECT_LE(cpu_ms(after) - cpu_ms(before), 40);
  broker.Reset();
  ASSERT_TRUE(probe.Until([&] { return probe.link->counters().failed_attempts == 1; }));
}

}  // namespace
}  // namespace murmurate
