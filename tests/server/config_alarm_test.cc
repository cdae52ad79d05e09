// [stream.NAME.alarm] and the keys of drift: what they come to, and how they are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/config/config.h"
#include "tests/server/config_text.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;

const std::string kTemp =
    "[stream.temp]\nsubscribe = \"sensors/{device}/data\"\nfields = [\"temp\", \"hum\"]\n"
    "target = \"temp\"\n";
const std::string kAlarm =
    "[stream.temp.alarm]\nwhen = \"forecast > 30\"\npublish = \"sensors/{device}/alarm\"\n";

/// The complaint about more lines, of which the first is the fifth.
std::string Refused(const std::string& lines) { return Complaint(kTemp + lines); }

TEST(ConfigAlarm, TwoLinesAreAnAlarm) {
  const auto config = Load(kTemp + kAlarm);
  ASSERT_TRUE(config.ok()) << config.status();
  const StreamSettings& stream = config->streams()[0];
  ASSERT_TRUE(stream.alarm && stream.forecast.alarm);
  EXPECT_EQ(stream.alarm->when, "forecast > 30");
  EXPECT_TRUE(stream.alarm->retain);
  const AlarmSettings& alarm = *stream.forecast.alarm;
  EXPECT_EQ(alarm.when, (AlarmCondition{0, AlarmCondition::Quantity::kForecast,
                                        AlarmCondition::Compare::kGreater, 30}));
  EXPECT_EQ(alarm.rows, 1u);
  EXPECT_FALSE(alarm.clear.has_value());
}

TEST(ConfigAlarm, OfTheSecondTargetHasItsNumber) {
  const auto config = Load(
      "[stream.temp]\nsubscribe = \"sensors/{device}/data\"\nfields = [\"a\", \"b\", \"c\"]\n"
      "target = [\"a\", \"c\"]\nquantiles = [0.1, 0.9]\n[stream.temp.alarm]\n"
      "when = \"c.value outside\"\nfor = 3\nclear = \"a.high < 2\"\npublish = \"x\"\n"
      "retain = false\n");
  ASSERT_TRUE(config.ok()) << config.status();
  const AlarmSettings& alarm = *config->streams()[0].forecast.alarm;
  EXPECT_EQ(alarm.when.target, 1);
  EXPECT_EQ(alarm.rows, 3u);
  ASSERT_TRUE(alarm.clear.has_value());
  EXPECT_EQ(alarm.clear->quantity, AlarmCondition::Quantity::kHigh);
  EXPECT_FALSE(config->streams()[0].alarm->retain);
}

TEST(ConfigAlarm, AStreamWithoutOneHasNone) {
  const auto config = Load(kTemp);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_FALSE(config->streams()[0].alarm || config->streams()[0].forecast.alarm);
}

TEST(ConfigAlarm, TheResolvedConfigIsTheSameOne) {
  const auto config = Load(kTemp + "drift_threshold = 20\ndrift_tolerance = 0.2\n" + kAlarm,
                           {{"stream.temp.alarm.for", "4"}});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->streams()[0].forecast.alarm->rows, 4u);
  const std::string resolved = ResolvedToml(*config);
  EXPECT_THAT(resolved, HasSubstr("[stream.temp.alarm]\nwhen = \"forecast > 30\"\nfor = 4\n"));
  const auto again = Load(resolved);
  ASSERT_TRUE(again.ok()) << again.status() << '\n' << resolved;
  EXPECT_EQ(ResolvedToml(*again), resolved);
}

TEST(ConfigAlarm, OfEachKeySaysWhatWasExpected) {
  EXPECT_EQ(Refused("[stream.temp.alarm]\npublish = \"x\"\n"),
            "c.toml:5: [stream.temp.alarm]: does not say what raises it; write for example when = "
            "\"temp.forecast > 30\"");
  EXPECT_EQ(Refused("[stream.temp.alarm]\nwhen = \"value > 3\"\n"),
            "c.toml:5: [stream.temp.alarm]: does not say where it goes; write for example publish "
            "= \"sensors/{device}/alarm\"");
  EXPECT_THAT(Refused("alarm = \"value > 3\"\n"),
              HasSubstr("c.toml:5: stream.temp.alarm: got \"value > 3\" (a string), expected a "
                        "section; write [stream.temp.alarm] with when and publish below it"));
  const std::string begin = "[stream.temp.alarm]\npublish = \"x\"\nwhen = ";
  EXPECT_THAT(Refused(begin + "\"frocast > 30\"\n"),
              HasSubstr("c.toml:7: stream.temp.alarm.when: got \"frocast > 30\", expected value, "
                        "forecast, baseline, low, high or error, not frocast; write a quantity"));
  EXPECT_THAT(Refused(begin + "\"value outside\"\n"), HasSubstr("without two quantiles"));
  EXPECT_THAT(Refused(begin + "\"hum.value > 3\"\n"), HasSubstr("hum is no target"));
  EXPECT_THAT(Refused(kAlarm + "clear = \"forecast\"\n"),
              HasSubstr("c.toml:8: stream.temp.alarm.clear: got \"forecast\""));
  EXPECT_THAT(Refused(kAlarm + "for = 0\n"),
              HasSubstr("stream.temp.alarm.for: got 0 (an integer), expected an integer from 1"));
  EXPECT_THAT(Refused(kAlarm + "fro = 2\n"),
              HasSubstr("unknown key \"fro\" in [stream.temp.alarm]; did you mean \"for\"?"));
}

TEST(ConfigAlarm, GoesToATopicOfItsOwn) {
  const std::string begin = "[stream.temp.alarm]\nwhen = \"value > 3\"\npublish = ";
  EXPECT_THAT(Refused(begin + "\"out/{devise}\"\n"),
              HasSubstr("c.toml:7: stream.temp.alarm.publish: "));
  EXPECT_THAT(Refused(begin + "\"sensors/{device}/data\"\n"),
              HasSubstr("would read what it publishes"));
  EXPECT_THAT(Refused("metrics = \"x\"\n" + begin + "\"x\"\n"),
              HasSubstr("c.toml:8: stream.temp.alarm.publish: got \"x\", expected a topic of its "
                        "own, because metrics goes there; choose another"));
}

TEST(ConfigDrift, MayBeNoticedSoonerLaterOrNever) {
  const auto usual = Load(kTemp);
  ASSERT_TRUE(usual.ok()) << usual.status();
  EXPECT_EQ(usual->streams()[0].forecast.drift.threshold, 50);
  EXPECT_EQ(usual->streams()[0].forecast.drift.tolerance, 0.1);
  const auto config = Load(kTemp + "drift_threshold = 20\ndrift_tolerance = 0.5\n");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->streams()[0].forecast.drift.threshold, 20);
  EXPECT_EQ(config->streams()[0].forecast.drift.tolerance, 0.5);
  EXPECT_TRUE(Load(kTemp + "drift_threshold = 0\n").ok());
  EXPECT_THAT(Refused("drift_threshold = -1\n"), HasSubstr("stream.temp.drift_threshold: got -1"));
  EXPECT_THAT(Refused("drift_threshold = 0\ndrift_tolerance = 0.5\n"),
              HasSubstr("c.toml:6: stream.temp.drift_tolerance: got 0.5, expected no such line, "
                        "because drift_threshold = 0 notices no drift; take one of the two out"));
}

}  // namespace
}  // namespace murmurate
