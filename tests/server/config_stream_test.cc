// [stream.NAME]: what it comes to, and how what makes no sense is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/config/config.h"
#include "server/learn/algorithms.h"
#include "tests/server/config_text.h"

namespace murmurate {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::string kTemp =
    "[stream.temp]\nsubscribe = \"sensors/{device}/data\"\nfields = [\"temp\", \"hum\"]\n"
    "target = \"temp\"\n";

/// The complaint about one more line, which is the fifth.
std::string Refused(const std::string& line) { return Complaint(kTemp + line + "\n"); }

TEST(ConfigStream, FourLinesAreAStream) {
  const auto config = Load(kTemp);
  ASSERT_TRUE(config.ok()) << config.status();
  ASSERT_EQ(config->streams().size(), 1u);
  const StreamSettings& stream = config->streams()[0];
  EXPECT_EQ(stream.name, "temp");
  EXPECT_EQ(stream.origin, "c.toml:1: [stream.temp]");
  EXPECT_EQ(stream.link.broker, "mqtt://localhost:1883");
  EXPECT_EQ(stream.link.protocol, MqttProtocol::k311);
  ASSERT_EQ(stream.link.subscriptions.size(), 1u);
  EXPECT_EQ(stream.link.subscriptions[0].filter, "sensors/+/data");
  EXPECT_EQ(stream.link.subscriptions[0].qos, 1);
  EXPECT_EQ(stream.payload.format, PayloadFormat::kJson);
  EXPECT_FALSE(stream.publish || stream.metrics || stream.committed);
  EXPECT_TRUE(stream.retain);
  const ForecastSettings& forecast = stream.forecast;
  EXPECT_THAT(forecast.targets, ElementsAre(0));
  EXPECT_THAT(forecast.horizons, ElementsAre(1));
  EXPECT_EQ(forecast.fields[1].name, "hum");
  EXPECT_EQ(forecast.window, 16);
  EXPECT_TRUE(forecast.per_device_state && forecast.learn);
  EXPECT_EQ(forecast.forget_after_s, 86'400);
}

TEST(ConfigStream, AModelThatRecursLearnsWindowsOfRows) {
  const auto config = Load(kTemp + "model = \"gru\"\nhidden = 8\nwindow = 12\nmax_batch = 10\n");
  ASSERT_TRUE(config.ok()) << config.status();
  const auto model = ModelForStream(*config, config->streams()[0]);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->algorithm.kind, AlgorithmNamed("supervised"));
  EXPECT_EQ(model->algorithm.trajectory_length, 12);
  EXPECT_EQ(model->algorithm.batch_steps, 120);
  EXPECT_EQ(model->algorithm.minibatch, 120);
  EXPECT_EQ(model->algorithm.epochs, 1);
  EXPECT_DOUBLE_EQ(model->algorithm.learning_rate.At(0), 1e-3);
  EXPECT_FALSE(model->spec.Find("value")->shares.empty() || model->spec.normalize_observation);
  ASSERT_EQ(model->spec.policy().trunk.size(), 1u);
  EXPECT_EQ(model->spec.policy().trunk[0].ToText(), "gru 8");
  EXPECT_EQ(model->spec.spaces.observation, Box({5}));  // two fields, their changes, the gap
  EXPECT_EQ(model->spec.spaces.action, Box({1}));
}

TEST(ConfigStream, APlainModelSeesItsWindowAtOnce) {
  const auto config = Load(kTemp +
                           "model = \"mlp\"\nhidden = 8\nwindow = 12\nhorizon = [6, 1]\n"
                           "quantiles = [0.9, 0.1]\n");
  ASSERT_TRUE(config.ok()) << config.status();
  const StreamSettings& stream = config->streams()[0];
  EXPECT_THAT(stream.forecast.horizons, ElementsAre(1, 6));
  EXPECT_THAT(stream.forecast.quantiles, ElementsAre(0.1, 0.9));
  const auto model = ModelForStream(*config, stream);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->algorithm.trajectory_length, 1);
  EXPECT_EQ(model->algorithm.batch_steps, 64);
  EXPECT_EQ(model->spec.spaces.observation, Box({60}));
  EXPECT_EQ(model->spec.spaces.action, Box({6}));  // two horizons of a value and two quantiles
  ASSERT_EQ(model->spec.policy().trunk.size(), 2u);
  EXPECT_EQ(model->spec.policy().trunk[1].units, 8);
}

TEST(ConfigStream, ReplayIsOffUnlessAskedForAndDrawnByTheRunsSeed) {
  const auto plain = Load(kTemp), config = Load("[run]\nseed = 9\n" + kTemp + "replay = 1000\n");
  ASSERT_TRUE(plain.ok() && config.ok()) << config.status();
  EXPECT_EQ(plain->streams()[0].replay, 0);
  EXPECT_EQ(config->streams()[0].replay, 1000);
  EXPECT_EQ(config->streams()[0].seed, 9u);
  EXPECT_THAT(
      Refused("replay = -1"),
      HasSubstr("stream.temp.replay: got -1 (an integer), expected an integer from 0 to 1000000"));
  EXPECT_THAT(Refused("learn = false\nreplay = 10"),
              HasSubstr("stream.temp.replay: got 10, expected no such line, because nothing is "
                        "learned"));
}

TEST(ConfigStream, AListOfLayersIsAModel) {
  const auto config = Load(kTemp + "model = [\"dense 24 relu\", \"lstm 16\"]\n");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(config->streams()[0].recurrent);
  EXPECT_EQ(ModelForStream(*config, config->streams()[0])->spec.policy().trunk.size(), 2u);
  const auto plain = Load(kTemp + "model = [24, 12]\n");
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_FALSE(plain->streams()[0].recurrent);
}

TEST(ConfigStream, FieldsSayWhereTheyStandAndWhatTheyMayBe) {
  const auto config =
      Load(kTemp +
           "[stream.temp.field.hum]\npointer = \"/climate/humidity\"\nunit = \"%\"\n"
           "low = 0\nhigh = 100\n");
  ASSERT_TRUE(config.ok()) << config.status();
  const StreamSettings& stream = config->streams()[0];
  EXPECT_EQ(stream.payload.fields[1].pointer, "/climate/humidity");
  EXPECT_EQ(stream.payload.fields[1].unit, "%");
  EXPECT_EQ(stream.payload.fields[1].min, 0.0);
  EXPECT_EQ(stream.payload.fields[1].max, 100.0);
  EXPECT_FALSE(stream.payload.fields[0].pointer.has_value());
  EXPECT_EQ(stream.forecast.fields[1].unit, "%");
}

TEST(ConfigStream, HorizonsAreTimesOnAGrid) {
  const auto config = Load(kTemp + "every = \"500ms\"\nhorizon = [\"10s\", \"1m\"]\n");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->streams()[0].forecast.every_s, 0.5);
  EXPECT_THAT(config->streams()[0].forecast.horizons, ElementsAre(20, 120));
  EXPECT_EQ(config->streams()[0].spaces().observation, Box({4}));  // on a grid there is no gap
  EXPECT_THAT(Refused("horizon = \"10s\""),
              HasSubstr("c.toml:5: stream.temp.horizon: got [\"10s\"], expected a number of rows, "
                        "because without `every`"));
  EXPECT_THAT(Refused("every = \"3s\"\nhorizon = \"10s\""),
              HasSubstr("c.toml:6: stream.temp.horizon: got [\"10s\"], expected 1 to 4096 times "
                        "`every` (3s); write for example horizon = \"3s\""));
  EXPECT_THAT(Refused("horizon = [1, 1]"), HasSubstr("each horizon once"));
}

TEST(ConfigStream, ItsModelsOwnSectionsStillHold) {
  const auto config = Load(kTemp +
                           "[model.temp]\nthreads = 2\n[model.temp.optimizer]\nname = \"rmsprop\"\n"
                           "learning_rate = 0.02\n");
  ASSERT_TRUE(config.ok()) << config.status();
  const auto model = ModelForStream(*config, config->streams()[0]);
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(model->algorithm.threads, 2);
  EXPECT_EQ(model->algorithm.optimizer, OptimizerSettings::Name::kRmsProp);
  EXPECT_DOUBLE_EQ(model->algorithm.learning_rate.At(0), 0.02);
  const auto own = Load(kTemp + "learning_rate = 0.05\n[optimizer]\nlearning_rate = 0.02\n");
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_DOUBLE_EQ(ModelForStream(*own, own->streams()[0])->algorithm.learning_rate.At(0), 0.05);
}

TEST(ConfigStream, WhatTheStreamSaysOfItsModelIsSaidOnce) {
  const auto refused = [](const std::string& text) { return Complaint(kTemp + text); };
  EXPECT_EQ(refused("[model.temp]\nlayers = [64]\n"),
            "c.toml:6: model.temp.layers: got [64], expected [\"lstm 32\"], because [stream.temp] "
            "describes this model; take the line out, or set model there");
  EXPECT_EQ(refused("[model.temp.algorithm]\nname = \"ppo\"\n"),
            "c.toml:6: model.temp.algorithm.name: got \"ppo\", expected \"supervised\", because "
            "[stream.temp] describes this model; take the line out");
  EXPECT_EQ(refused("[model.temp]\nprevious_reward = true\n"),
            "c.toml:6: model.temp.previous_reward: got true, expected false, because [stream.temp] "
            "describes this model; take the line out");
  EXPECT_THAT(refused("[model.temp.algorithm]\nbatch_steps = 64\n"),
              HasSubstr("expected 1024, because [stream.temp] describes this model; take the line "
                        "out, or set max_batch there"));
  EXPECT_THAT(refused("learning_rate = 0.1\n[model.temp.optimizer]\nlearning_rate = 0.2\n"),
              HasSubstr("model.temp.optimizer.learning_rate: got 0.2, expected 0.1"));
}

TEST(ConfigStream, StandsBesideModelsThatPlay) {
  const auto config = Load(kTemp + "[model]\nrecurrent = \"lstm 16\"\nlayers = [8]\n");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(ModelFor(*config, "player", kSpaces)->spec.policy().trunk.size(), 2u);
  EXPECT_EQ(ModelFor(*config, "player", kSpaces)->algorithm.kind, AlgorithmNamed("ppo"));
  EXPECT_EQ(ModelForStream(*config, config->streams()[0])->spec.policy().trunk.size(), 1u);
  EXPECT_EQ(config->StreamOf("player"), nullptr);
  EXPECT_EQ(config->StreamOf("temp"), &config->streams()[0]);
}

TEST(ConfigStream, TheResolvedConfigIsTheSameOne) {
  const auto config =
      Load(kTemp +
           "every = \"2s\"\nhorizon = [\"4s\"]\nquantiles = [0.1, 0.9]\nmodel = \"mlp\"\n"
           "learning_rate = 0.01\nmetrics = \"sensors/{device}/error\"\nretain = false\n"
           "[stream.temp.field.hum]\nunit = \"%\"\nlow = 0\n[stream.\"b.2\"]\nsubscribe = \"x\"\n"
           "fields = [\"v\"]\ntarget = [\"v\"]\n[model]\nrecurrent = \"lstm 16\"\n");
  ASSERT_TRUE(config.ok()) << config.status();
  const std::string resolved = ResolvedToml(*config);
  const auto again = Load(resolved);
  ASSERT_TRUE(again.ok()) << again.status() << '\n' << resolved;
  EXPECT_EQ(ResolvedToml(*again), resolved);
  EXPECT_EQ(ModelForStream(*again, again->streams()[1])->spec,
            ModelForStream(*config, config->streams()[1])->spec);
}

TEST(ConfigStream, ShowsWhatEachKeyMeans) {
  const auto config = Load(kTemp);
  bool found = false;
  for (const ConfigLine& line : Explain(*config)) {
    if (line.path != "stream.temp.hidden") continue;
    found = true;
    EXPECT_EQ(line.value, "32");
    EXPECT_EQ(line.origin, "default");
    EXPECT_THAT(line.meaning, HasSubstr("units"));
  }
  EXPECT_TRUE(found);
}

TEST(ConfigStream, MayBeSetFromTheCommandLine) {
  const auto config = Load(kTemp, {{"stream.temp.hidden", "8"}, {"stream.temp.horizon", "3"}});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_THAT(config->streams()[0].forecast.horizons, ElementsAre(3));
  EXPECT_THAT(Complaint(kTemp, {{"stream.temp.hidden", "0"}}),
              StartsWith("--set stream.temp.hidden=0: stream.temp.hidden: got 0"));
}

TEST(ConfigStreamError, SaysWhatIsMissing) {
  EXPECT_EQ(Complaint("\n[stream.temp]\nfields = [\"a\"]\n"),
            "c.toml:2: [stream.temp]: says nothing of topics to read; write for example subscribe "
            "= \"sensors/{device}/data\"");
  EXPECT_EQ(Complaint("[stream.temp]\nsubscribe = \"x\"\n"),
            "c.toml:1: [stream.temp]: says nothing of what is in a message; write for example "
            "fields = [\"temp\", \"hum\"]");
  EXPECT_EQ(Complaint("[stream.temp]\nsubscribe = \"x\"\nfields = [\"a\"]\n"),
            "c.toml:1: [stream.temp]: says nothing of what is to be forecast; write for example "
            "target = \"a\"");
  EXPECT_THAT(Complaint("[stream]\nsubscribe = \"x\"\n"),
              HasSubstr("c.toml:2: stream.subscribe: got \"x\" (a string), expected a section; "
                        "give each stream a name"));
  EXPECT_THAT(Complaint("[stream.\"two words\"]\n"), HasSubstr("a stream's name has 1 to 64"));
}

TEST(ConfigStreamError, UnknownKeysHaveANeighbour) {
  EXPECT_EQ(Refused("windw = 3"),
            "c.toml:5: unknown key \"windw\" in [stream.temp]; did you mean \"window\"?");
  EXPECT_THAT(
      Refused("[stream.temp.field.hum]\nlowest = 3"),
      HasSubstr("unknown key \"lowest\" in [stream.temp.field.hum]; did you mean \"low\"?"));
}

TEST(ConfigStreamError, OfEachKeySaysWhatWasExpected) {
  const struct {
    const char *line, *says;
  } kCases[] = {
      {"window = 0",
       "c.toml:5: stream.temp.window: got 0 (an integer), expected an integer from 1 "
       "to 1024; write for example window = 16"},
      {"qos = 3", "expected an integer from 0 to 2"},
      {"protocol = \"4\"", "expected \"3.1.1\" or \"5\""},
      {"format = \"xml\"", "expected \"json\" or \"csv\" or \"floats\" or \"flatbuffer\""},
      {"model = \"rnn\"", "expected \"lstm\" or \"gru\" or \"mlp\" or a list of at most 64 units"},
      {"model = [\"lstn 4\"]", "stream.temp.model: got"},
      {"every = 10", "expected a duration such as \"10s\" (ms, s, m, h or d)"},
      {"every = \"10\"", "expected a duration such as \"10s\""},
      {"forget_after = \"-1s\"", "expected a duration"},
      {"horizon = -1", "expected an integer from 0 to 4096, a duration such as \"10s\", or a list"},
      {"horizon = [1, \"2s\"]", "expected an integer from 0 to 4096"},
      {"quantiles = [0.5, 1]", "expected a list of numbers from"},
      {"quantiles = [0.5, 0.5]", "each quantile once"},
      {"learn = \"yes\"", "expected true or false"},
      {"state = \"none\"", "expected \"per-device\" or \"window\""},
      {"max_batch = 5000", "expected an integer from 1 to 4096"},
      {"broker = \"http://x\"", "c.toml:5: stream.temp.broker: "},
      {"user = \"\"", "expected a string that is not empty"},
      {"password_env = \"P\"", "expected no such line, because there is no user beside it"},
      {"user = \"u\"\npassword_env = \"P\"\npassword_file = \"p\"", "take one of the two out"},
      {"ca_file = \"ca.pem\"", "spoken to without TLS; write broker = \"mqtts://localhost\""},
      {"broker = \"mqtts://localhost\"\nkey_file = \"k\"",
       "set both certificate_file and key_file"},
      {"publish = \"out/{devise}\"", "c.toml:5: stream.temp.publish: "},
      {"publish = \"sensors/{device}/data\"", "would read what it publishes"},
      {"publish = \"a\"\nmetrics = \"a\"", "expected a topic of its own"},
      {"status = \"x/{device}\"", "expected a topic without names"},
      {"committed = \"x/{device}\"", "the messages have no numbers that it could tell"},
      {"retain = false", "nothing is published; set publish"},
      {"header = [\"temp\"]", "only CSV has columns"},
      {"time_unit = \"ms\"", "the messages have no time; write for example time = \"/time\""},
      {"resample = \"mean\"", "each message is a row of its own"},
      {"hidden = 8\nmodel = [8]", "model lists its layers"},
      {"state = \"window\"\nmodel = \"mlp\"", "a model that does not recur has none"},
      {"max_delay_ms = 5\nlearn = false", "nothing is learned"},
      {"format = \"csv\"\nseparator = \"ab\"", "choose one"},
  };
  for (const auto& one : kCases) EXPECT_THAT(Refused(one.line), HasSubstr(one.says)) << one.line;
}

TEST(ConfigStreamError, FieldsAndTargetsAreNamesOfOneAnother) {
  const std::string begin = "[stream.t]\nsubscribe = \"x\"\n";
  EXPECT_THAT(Complaint(begin + "fields = [\"Temp\"]\ntarget = \"Temp\"\n"),
              HasSubstr("expected names of 1 to 32 of a-z 0-9 _; call it so"));
  EXPECT_THAT(Complaint(begin + "fields = [\"a\", \"a\"]\ntarget = \"a\"\n"),
              HasSubstr("two fields are called 'a'"));
  EXPECT_THAT(Complaint(begin + "fields = [\"a\"]\ntarget = \"b\"\n"),
              HasSubstr("expected some of the fields; write for example target = \"a\""));
  EXPECT_THAT(Complaint(begin + "fields = [\"a\"]\ntarget = [\"a\", \"a\"]\n"),
              HasSubstr("each field once"));
  EXPECT_THAT(Complaint(begin + "fields = [\"time\"]\ntarget = \"time\"\n"),
              HasSubstr("a target cannot be called 'time'"));
  EXPECT_THAT(Refused("[stream.temp.field.wind]\nunit = \"m/s\""),
              HasSubstr("c.toml:5: [stream.temp.field.wind]: there is no such field; add \"wind\" "
                        "to fields"));
  EXPECT_THAT(Refused("[stream.temp.field.hum]\nlow = 5\nhigh = 5"),
              HasSubstr("c.toml:7: stream.temp.field.hum.high: got 5.0, expected more than low"));
}

TEST(ConfigStreamError, APasswordIsNeverShown) {
  const std::string written = Refused("password = \"hunter2\"");
  EXPECT_THAT(written,
              AllOf(StartsWith("c.toml:5: stream.temp.password: "), HasSubstr("password_file"),
                    HasSubstr("password_env"), Not(HasSubstr("hunter2"))));
  const std::string set = Complaint(kTemp, {{"stream.temp.password", "hunter2"}});
  EXPECT_THAT(set, AllOf(StartsWith("--set: stream.temp.password: "), Not(HasSubstr("hunter2"))));
  const std::string url = Refused("broker = \"mqtt://me:hunter2@localhost\"");
  EXPECT_THAT(url, AllOf(StartsWith("c.toml:5: stream.temp.broker: "), Not(HasSubstr("hunter2"))));
  const std::string set_url =
      Complaint(kTemp, {{"stream.temp.broker", "mqtt://me:hunter2@localhost"}});
  EXPECT_THAT(set_url, Not(HasSubstr("hunter2")));
}

TEST(ConfigStreamError, StreamsDoNotStandBesideFilesOrHogwild) {
  EXPECT_THAT(Complaint(kTemp + "[algorithm]\nname = \"bc\"\n[data]\npath = \"recorded\"\n"),
              HasSubstr("[stream.temp]: a learner of files takes nothing else"));
  EXPECT_THAT(
      Complaint(kTemp + "[parameters]\nrule = \"hogwild\"\nthreads = 2\n[optimizer]\nname = "
                        "\"sgd\"\n"),
      HasSubstr("[stream.temp]: rule = \"hogwild\""));
  const std::string two =
      "[stream.a]\nsubscribe = \"x\"\nfields = [\"v\"]\ntarget = \"v\"\n"
      "client_id = \"me\"\n";
  EXPECT_THAT(Complaint(two + "[stream.b]\n" + two.substr(two.find('\n') + 1)),
              HasSubstr("[stream.b]: has the client_id of [stream.a]"));
}

}  // namespace
}  // namespace murmurate
