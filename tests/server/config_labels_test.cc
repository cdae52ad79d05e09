// [stream.NAME] with labels that come later, and with devices that the payload names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/config/config.h"
#include "tests/server/config_text.h"

namespace murmurate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kLab =
    "[stream.press]\nsubscribe = \"press/{device}/data\"\nfields = [\"force\", \"heat\"]\n"
    "target = \"quality\"\nlabel_topic = \"lab/{device}/result\"\nid = \"/id\"\n";

/// The complaint about one more line, which is the seventh.
std::string Refused(const std::string& line) { return Complaint(kLab + line + "\n"); }

TEST(ConfigLabels, ThreeKeysAreAStreamWhoseTargetComesLater) {
  const auto config = Load(kLab + "[stream.press.field.quality]\nunit = \"%\"\nhigh = 100\n" +
                           "pointer = \"/result/quality\"\n");
  ASSERT_TRUE(config.ok()) << config.status();
  const StreamSettings& stream = config->streams()[0];
  ASSERT_EQ(stream.link.subscriptions.size(), 2u);
  EXPECT_EQ(stream.link.subscriptions[1].filter, "lab/+/result");
  EXPECT_EQ(stream.payload.id, "/id");
  ASSERT_EQ(stream.payload.fields.size(), 2u);
  ASSERT_TRUE(stream.labels);
  EXPECT_EQ(stream.labels->payload.id, "/id");
  EXPECT_FALSE(stream.labels->payload.sequence || stream.labels->payload.device);
  ASSERT_EQ(stream.labels->payload.fields.size(), 1u);
  EXPECT_EQ(stream.labels->payload.fields[0].pointer, "/result/quality");
  EXPECT_EQ(stream.labels->payload.fields[0].max, 100.0);
  const ForecastSettings& forecast = stream.forecast;
  EXPECT_THAT(forecast.targets, ElementsAre(2));
  EXPECT_THAT(forecast.horizons, ElementsAre(0));
  EXPECT_EQ(forecast.label_window, 256);
  EXPECT_EQ(forecast.TargetField(0).name, "quality");
  EXPECT_EQ(forecast.TargetField(0).unit, "%");
  EXPECT_FALSE(forecast.per_device_state) << "that is usual here";
  EXPECT_EQ(stream.spaces().observation, Box({6}));  // fields, changes, the gap, the last label
  EXPECT_TRUE(Load(kLab + "state = \"window\"\n").ok());
  EXPECT_TRUE(Load(kLab + "model = \"mlp\"\n").ok());
}

TEST(ConfigLabels, TheResolvedConfigIsTheSameOne) {
  const auto config = Load(kLab + "label_window = 50\n");
  ASSERT_TRUE(config.ok()) << config.status();
  const auto again = Load(ResolvedToml(*config));
  ASSERT_TRUE(again.ok()) << again.status() << '\n' << ResolvedToml(*config);
  EXPECT_EQ(ResolvedToml(*again), ResolvedToml(*config));
  EXPECT_EQ(again->streams()[0].forecast.label_window, 50);
}

TEST(ConfigLabels, WhatMakesNoSenseBesideThemIsRefused) {
  EXPECT_EQ(Refused("horizon = 1"),
            "c.toml:7: stream.press.horizon: got [1], expected no such line, because with "
            "label_topic the label of that very row is forecast; take one of the two out");
  EXPECT_EQ(
      Refused("state = \"per-device\""),
      "c.toml:7: stream.press.state: got \"per-device\", expected \"window\", because a label "
      "that comes late cannot be learned from a state that has gone on; write state = "
      "\"window\"");
  const struct {
    const char *line, *says;
  } kCases[] = {
      {"broker = \"mqtt://localhost\"\nlisten = \"tcp://127.0.0.1:7430\"",
       "stream.press.listen: got \"tcp://127.0.0.1:7430\", expected no such line, because labels "
       "come over a broker, and a stream that listens has no place for them; take one of the two "
       "out"},
      {"every = \"10s\"", "each message has an id and is a row; take one of the two out"},
      {"season = 24", "the naive forecast is the last label; take one of the two out"},
      {"format = \"floats\"", "because a sample and its label find each other by it; write format"},
      {"format = \"flatbuffer\"", "expected \"id\", because a FlatBuffer has it there"},
      {"label_window = 0", "expected an integer from 1 to 4096"},
      {"early_labels = -1", "expected an integer from 0 to 4096"},
      {"horizon = 0", "the label of that very row is forecast; take one of the two out"},
      {"label_header = [\"id\"]", "only CSV has columns"},
      {"publish = \"lab/{device}/result\"", "a topic that label_topic does not read"},
      {"metrics = \"lab/x/result\"", "a topic that label_topic does not read"},
      {"status = \"lab/x/result\"", "a topic that label_topic does not read"},
      {"device = \"/device\"", "subscribe and label_topic have a {device} that says who sends"},
      {"[stream.press.alarm]\nwhen = \"forecast < 3\"\npublish = \"lab/{device}/result\"",
       "a topic that label_topic does not read"},
      {"[stream.press.field.wind]\nunit = \"m\"", "there is no such field"},
      {"[stream.press.field.quality]\npointer = \"id\"", "label_topic: of a label"},
  };
  for (const auto& one : kCases) EXPECT_THAT(Refused(one.line), HasSubstr(one.says)) << one.line;
}

std::string Changed(const std::string& from, const std::string& to) {
  std::string text = kLab;
  return text.replace(text.find(from), from.size(), to);
}

TEST(ConfigLabels, WhatTheyNeedIsAskedFor) {
  EXPECT_THAT(
      Complaint(Changed("id = \"/id\"\n", "")),
      HasSubstr("nothing says which sample a label is for; write for example id = \"/id\""));
  EXPECT_THAT(Complaint(Changed("target = \"quality\"\n", "")),
              HasSubstr("write for example target = \"quality\""));
  EXPECT_THAT(Complaint(Changed("\"quality\"", "\"heat\"")),
              HasSubstr("expected what labels alone say, because a sample has no label yet"));
  EXPECT_THAT(Complaint(Changed("\"quality\"", "[\"q\", \"q\"]")), HasSubstr("each target once"));
  EXPECT_THAT(Complaint(Changed("\"quality\"", "\"Quality\"")), HasSubstr("names of 1 to 32"));
  EXPECT_THAT(Complaint(Changed("\"quality\"", "\"time\"")),
              HasSubstr("a target cannot be called 'time'"));
  EXPECT_THAT(Complaint(Changed("lab/{device}/result", "press/{press}/{device}")),
              HasSubstr("the topics of subscribe, or ones that it does not read"));
  EXPECT_THAT(Complaint(Changed("label_topic = \"lab/{device}/result\"\n", "")),
              HasSubstr("stream.press.target: got [\"quality\"], expected some of the fields"));
  EXPECT_THAT(Complaint("[stream.t]\nsubscribe = \"x\"\nfields = [\"v\"]\ntarget = \"v\"\n"
                        "id = \"/id\"\n"),
              HasSubstr("no labels come later; take it out, or write for example label_topic"));
}

TEST(ConfigLabels, MayComeToTheTopicsOfSamples) {
  const std::string text = Changed("lab/{device}/result", "press/{device}/data");
  const auto config = Load(text + "early_labels = 3\n[stream.press.field.quality]\nhigh = 100\n");
  ASSERT_TRUE(config.ok()) << config.status();
  const StreamSettings& stream = config->streams()[0];
  EXPECT_EQ(stream.link.subscriptions.size(), 1u);
  EXPECT_TRUE(stream.labels->share_topic);
  EXPECT_EQ(stream.forecast.early_labels, 3);
  ASSERT_EQ(stream.payload.fields.size(), 3u);
  EXPECT_EQ(stream.payload.fields[2].name, "quality");
  EXPECT_EQ(stream.payload.label_fields, 1u);
  EXPECT_EQ(stream.forecast.fields.size(), 2u);
  const auto again = Load(ResolvedToml(*config));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(ResolvedToml(*again), ResolvedToml(*config));
  std::string csv = text + "format = \"csv\"\n";
  csv.replace(csv.find("/id"), 3, "4");
  EXPECT_TRUE(Load(csv).ok()) << Load(csv).status();
  EXPECT_THAT(Complaint(csv + "label_header = [\"id\"]\n"),
              HasSubstr("labels come to the topics of samples and have their columns"));
  EXPECT_THAT(Complaint(text + "format = \"floats\"\n"), HasSubstr("one that has room for an id"));
  EXPECT_THAT(Complaint(text + "[stream.press.field.quality]\npointer = \"/heat\"\n"),
              HasSubstr("label_topic: of samples and labels: two values are read from '/heat'"));
}

const std::string kMill =
    "[stream.mill]\nsubscribe = \"mill/{device}\"\nfields = [\"x1\", \"x2\"]\n"
    "target = \"y\"\nhorizon = 0\n";

TEST(ConfigOwnLabels, AreWhatAMessageHasBesideItsFields) {
  const auto config = Load(kMill + "[stream.mill.field.y]\nunit = \"mm\"\nlow = 0\n");
  ASSERT_TRUE(config.ok()) << config.status();
  const StreamSettings& stream = config->streams()[0];
  EXPECT_TRUE(stream.forecast.own_labels());
  EXPECT_THAT(stream.forecast.targets, ElementsAre(2));
  EXPECT_THAT(stream.forecast.horizons, ElementsAre(0));
  EXPECT_TRUE(stream.forecast.per_device_state);
  ASSERT_EQ(stream.payload.fields.size(), 3u);
  EXPECT_EQ(stream.payload.fields[2].min, 0.0);
  EXPECT_EQ(stream.forecast.TargetField(0).unit, "mm");
  EXPECT_EQ(stream.spaces().observation, Box({6}));  // fields, changes, the gap, the last label
  const auto again = Load(ResolvedToml(*config));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(ResolvedToml(*again), ResolvedToml(*config));
  std::string listed = kMill;
  listed.replace(listed.find("\"x2\""), 4, "\"y\"");
  const auto field = Load(listed);
  ASSERT_TRUE(field.ok()) << field.status();
  EXPECT_THAT(field->streams()[0].forecast.targets, ElementsAre(1));
  EXPECT_EQ(field->streams()[0].payload.fields.size(), 2u);
}

TEST(ConfigOwnLabels, WhatMakesNoSenseBesideThemIsRefused) {
  const struct {
    const char *from, *to, *says;
  } kCases[] = {
      {"horizon = 0", "horizon = [0, 1]", "expected 0 alone, or numbers from 1 on"},
      {"horizon = 0", "horizon = [0, 0]", "expected 0 alone, or numbers from 1 on"},
      {"horizon = 0", "horizon = 0\nevery = \"1s\"", "with horizon = 0 each message is a row"},
      {"horizon = 0", "horizon = 0\nseason = 4", "the naive forecast is the last label"},
      {"horizon = 0", "horizon = 0\nid = \"/id\"", "no labels come later"},
      {"horizon = 0", "horizon = 1", "or horizon = 0 if a message has it beside them"},
      {"\"x1\", \"x2\"", "\"y\"", "one that is no target"},
      {"\"y\"", "[\"y\", \"y\"]", "each field once"},
      {"\"y\"", "\"time\"", "a target cannot be called 'time'"},
      {"\"y\"", "\"Y\"", "names of 1 to 32"},
  };
  for (const auto& one : kCases) {
    std::string text = kMill;
    text.replace(text.find(one.from), std::string(one.from).size(), one.to);
    EXPECT_THAT(Complaint(text), HasSubstr(one.says)) << one.to;
  }
}

TEST(ConfigLabels, SayWhoseTheyAreWhereSamplesDo) {
  EXPECT_THAT(Complaint(Changed("lab/{device}/result", "lab/result")),
              HasSubstr("stream.press.label_topic: got \"lab/result\", expected one with {device}, "
                        "because nothing else says whose a label is; write for example "
                        "\"lab/{device}/result\", or say where the payload has it: device = "
                        "\"/device\""));
  const auto payload =
      Load(Changed("lab/{device}/result", "lab/result") + "device = \"/device\"\n");
  ASSERT_TRUE(payload.ok()) << payload.status();
  EXPECT_EQ(payload->streams()[0].labels->payload.device, "/device");
  EXPECT_FALSE(payload->streams()[0].payload.device) << "of samples the topic says it";
  std::string one = Changed("lab/{device}/result", "lab/result");
  one.replace(one.find("press/{device}/data"), 19, "press/data");
  EXPECT_TRUE(Load(one).ok()) << "one device needs no name";
  EXPECT_THAT(Complaint(Changed("press/{device}/data", "press/data")),
              HasSubstr("expected no {device}, because nothing says whose a sample is"));
  const auto split = Load(Changed("press/{device}/data", "press/data") + "device = \"/device\"\n");
  ASSERT_TRUE(split.ok()) << split.status();
  EXPECT_EQ(split->streams()[0].payload.device, "/device");
  EXPECT_FALSE(split->streams()[0].labels->payload.device);
}

TEST(ConfigLabels, OfCsvHaveColumnsOfTheirOwn) {
  const std::string csv = Changed("id = \"/id\"", "id = \"id\"") +
                          "format = \"csv\"\nheader = [\"id\", \"force\", \"heat\"]\n";
  EXPECT_THAT(Complaint(csv), HasSubstr("of a label (its header is label_header): there is no "
                                        "column 'id'"));
  EXPECT_TRUE(Load(csv + "label_header = [\"id\", \"quality\"]\n").ok());
  const std::string table = Changed("id = \"/id\"", "id = \"id\"") + "format = \"flatbuffer\"\n";
  EXPECT_TRUE(Load(table).ok()) << "a FlatBuffer has it there";
}

const std::string kHub =
    "[stream.hub]\nsubscribe = \"hub/data\"\nfields = [\"v\"]\ntarget = \"v\"\n"
    "device = \"/id\"\npublish = \"sensors/{device}/forecast\"\n";

TEST(ConfigDevice, InThePayloadFillsTopicsThatAreAnswered) {
  const auto config = Load(kHub + "committed = \"sensors/{device}/c\"\nsequence = \"/seq\"\n");
  ASSERT_TRUE(config.ok()) << config.status();
  const StreamSettings& stream = config->streams()[0];
  EXPECT_EQ(stream.payload.device, "/id");
  EXPECT_THAT(stream.subscribe.names(), ElementsAre("device"));
  std::string topic;
  const std::string_view name = "pump";
  stream.publish->Fill({&name, 1}, &topic);
  EXPECT_EQ(topic, "sensors/pump/forecast");
  EXPECT_TRUE(Load(kHub + "[stream.hub.alarm]\nwhen = \"value > 3\"\npublish = "
                          "\"sensors/{device}/alarm\"\n")
                  .ok());
}

TEST(ConfigDevice, IsSaidInOnePlace) {
  std::string twice = kHub;
  twice.replace(twice.find("hub/data"), 8, "hub/{device}");
  EXPECT_THAT(Complaint(twice),
              HasSubstr("c.toml:5: stream.hub.device: got \"/id\", expected no such line, because "
                        "subscribe has a {device} that says who sends; take one of the two out"));
  EXPECT_THAT(Complaint(kHub + "format = \"floats\"\n"),
              HasSubstr("holds numbers alone: name the device in the topic"));
  EXPECT_THAT(Complaint(kHub + "format = \"flatbuffer\"\n"),
              HasSubstr("names who sends it in 'device', not in '/id'"));
}

}  // namespace
}  // namespace murmurate
