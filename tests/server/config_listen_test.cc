// [stream.NAME] listen: a stream without a broker, and beside one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/config/config.h"
#include "tests/server/config_text.h"

namespace murmurate {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kTemp =
    "[stream.temp]\nlisten = \"tcp://127.0.0.1:7430\"\nfields = [\"temp\", \"hum\"]\n"
    "target = \"temp\"\n";

/// The complaint about one more line, which is the fifth.
std::string Refused(const std::string& line) { return Complaint(kTemp + line + "\n"); }

TEST(ConfigListen, AloneItIsAStreamWithoutABroker) {
  const auto config = Load(kTemp);
  ASSERT_TRUE(config.ok()) << config.status();
  const StreamSettings& stream = config->streams().at(0);
  EXPECT_EQ(stream.listen, "tcp://127.0.0.1:7430");
  EXPECT_FALSE(stream.has_broker);
  EXPECT_EQ(stream.payload.fields.size(), 2u);
  EXPECT_TRUE(ModelForStream(*config, stream).ok());
}

TEST(ConfigListen, BesideABrokerBothWork) {
  const auto config =
      Load(kTemp + "broker = \"mqtt://localhost:1883\"\nsubscribe = \"s/{device}\"\n");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(config->streams().at(0).has_broker);
  EXPECT_EQ(config->streams().at(0).link.broker, "mqtt://localhost:1883");
  EXPECT_EQ(config->streams().at(0).listen, "tcp://127.0.0.1:7430");
  EXPECT_THAT(Refused("broker = \"mqtt://localhost\""),
              HasSubstr("says nothing of topics to read"));
}

TEST(ConfigListen, WithoutItTheUsualBrokerIsThere) {
  const auto config = Load("[stream.t]\nsubscribe = \"x\"\nfields = [\"v\"]\ntarget = \"v\"\n");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(config->streams().at(0).has_broker);
  EXPECT_EQ(config->streams().at(0).listen, "");
  EXPECT_EQ(config->streams().at(0).link.broker, "mqtt://localhost:1883");
}

TEST(ConfigListen, WhatAResolvedConfigSpellsOutIsTheSameStream) {
  const auto config = Load(kTemp);
  ASSERT_TRUE(config.ok());
  const auto again = Load(ResolvedToml(*config));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_FALSE(again->streams().at(0).has_broker);
  EXPECT_EQ(again->streams().at(0).listen, "tcp://127.0.0.1:7430");
}

TEST(ConfigListen, KeysOfABrokerAreRefusedWithTheRemedy) {
  for (const char* line :
       {"subscribe = \"s/{device}\"", "publish = \"f/{device}\"", "metrics = \"e/{device}\"",
        "committed = \"c/{device}\"", "status = \"s\"", "retain = false", "qos = 2",
        "protocol = \"5\"", "client_id = \"me\"", "user = \"u\"", "password_file = \"p\"",
        "ca_file = \"c\"", "format = \"csv\"", "max_bytes = 7", "time = \"/t\"",
        "sequence = \"/seq\"", "[stream.temp.field.hum]\npointer = \"/h\""})
    EXPECT_THAT(Refused(line), AllOf(HasSubstr("stream.temp."),
                                     HasSubstr("expected no such line, because the "
                                               "stream has no broker"),
                                     HasSubstr("take the line out, or set broker")))
        << line;
}

TEST(ConfigListen, AnAlarmWithoutABrokerHasNoTopic) {
  const std::string alarm = "[stream.temp.alarm]\nwhen = \"value > 30\"\n";
  const auto config = Load(kTemp + alarm);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(config->streams().at(0).forecast.alarm.has_value());
  EXPECT_FALSE(config->streams().at(0).alarm.has_value());
  EXPECT_THAT(Complaint(kTemp + alarm + "publish = \"a/{device}\"\n"),
              HasSubstr("stream.temp.alarm.publish: got \"a/{device}\", expected no such line"));
}

TEST(ConfigListen, AnAddressThatCannotBeIsRefused) {
  const auto listening = [](const std::string& address, const std::string& more = "") {
    return Complaint("[stream.temp]\nlisten = \"" + address +
                     "\"\nfields = [\"temp\"]\ntarget = \"temp\"\n" + more);
  };
  EXPECT_THAT(listening("localhost"), StartsWith("c.toml:2: stream.temp.listen: "));
  EXPECT_THAT(listening("tcp://127.0.0.1"), HasSubstr("has no port"));
  EXPECT_THAT(listening("tcp://0.0.0.0:7430"),
              AllOf(StartsWith("c.toml:2: stream.temp.listen: tcp://0.0.0.0:7430"),
                    HasSubstr("can be reached from other hosts"), HasSubstr("--insecure")));
  EXPECT_TRUE(Load("[server]\ninsecure = true\n[stream.temp]\nlisten = \"tcp://0.0.0.0:7430\"\n"
                   "fields = [\"temp\"]\ntarget = \"temp\"\n")
                  .ok());
  EXPECT_THAT(listening("tcp://127.0.0.1:7430",
                        "[stream.other]\nlisten = \"tcp://127.0.0.1:7430\"\nfields = [\"v\"]\n"
                        "target = \"v\"\n"),
              HasSubstr(" listens on tcp://127.0.0.1:7430; choose another address"));
  EXPECT_THAT(listening("tcp://127.0.0.1:7420", "[server]\nlisten = [\"tcp://127.0.0.1:7420\"]\n"),
              HasSubstr("server.listen listens on tcp://127.0.0.1:7420"));
}

TEST(ConfigListen, OfStreamsAloneTakesNoPortsThatGamesKnow) {
  const std::string stream =
      "[stream.temp]\nlisten = \"tcp://127.0.0.1:7420\"\nfields = [\"temp\"]\ntarget = "
      "\"temp\"\n";
  const auto alone = Load(stream);
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_THAT(alone->server().listen, testing::ElementsAre("ipc"));
  EXPECT_THAT(Complaint(stream + "[run]\nenvironment = \"cartpole\"\n"),
              HasSubstr("server.listen listens on tcp://127.0.0.1:7420"));
}

}  // namespace
}  // namespace murmurate
