// `murmurate serve` of streams whose messages have inputs and target together: the example, each
// format, samples by `listen`, labels on the topic of samples; with a real broker.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "murmurate/predictor.h"
#include "shared/core/clock.h"
#include "tests/server/process.h"
#include "tests/stream/payload_settings.h"
#include "tests/stream/probe.h"

namespace murmurate {
namespace {

using Json = nlohmann::json;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
const std::filesystem::path kExample =
    std::filesystem::path(MURMURATE_SOURCES) / "examples/messages";

class MessageHandler : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!Broker::Installed()) GTEST_SKIP() << Broker::kMissing;
    ASSERT_TRUE(broker_.Start());
  }
  void TearDown() override {
    if (!server_) return;
    if (HasFailure()) std::cerr << server_->Errors();
    server_->Send(SIGINT);
    EXPECT_EQ(server_->Wait(20), 0);
  }
  void Serve(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "serve");
    arguments.insert(arguments.end(), {"--set", "run.name=handler"});
    server_.emplace(place_.path(), arguments);
    ASSERT_TRUE(server_->Says(": connected")) << server_->Errors();
  }
  void ServeExample() {
    Serve({kExample / "handler.toml", "--set", "stream.mill.broker=" + broker_.address()});
  }
  Json Stream(const std::string& name) {
    const Json said = Json::parse(
        RunMurmurate(place_.path(), {"status", "handler", "--json"}).output, nullptr, false);
    if (said.is_object())
      for (const Json& stream : said["streams"])
        if (stream["name"] == name) return stream;
    return Json::object();
  }
  bool Counts(const std::string& name, const std::string& key, int count) {
    return Eventually(20, [&] { return Stream(name).value(key, -1) == count; });
  }

  /// Without the option the broker holds a forecast back for up to 40 ms, until its acknowledgement
  /// of our message was acknowledged (Nagle's algorithm).
  static Broker::Options AtOnce() {
    Broker::Options options;
    options.lines = {"set_tcp_nodelay true"};
    return options;
  }

  Broker broker_{AtOnce()};
  Workplace place_;
  std::optional<Process> server_;
};

TEST_F(MessageHandler, OfTheExampleForecastsEachMessageAndLearnsIt) {
  if (std::system("command -v mosquitto_pub >/dev/null") != 0)
    GTEST_SKIP()
        << "the program mosquitto_pub is not installed (apt-get install mosquitto-clients)";
  ServeExample();
  Probe reader(SettingsFor(broker_.address(), "mill/+/forecast"));
  ASSERT_TRUE(reader.UntilUp());
  const std::string command = "PORT=" + std::to_string(broker_.port()) + " timeout 30 \"" +
                              (kExample / "publish").string() + "\" 200 m7 0";
  ASSERT_EQ(std::system(command.c_str()), 0);
  ASSERT_TRUE(reader.UntilGot(200));
  for (const auto& got : reader.got) EXPECT_EQ(got.topic, "mill/m7/forecast");
  EXPECT_TRUE(Json::parse(reader.got[0].payload)["y"]["forecast"].is_null());
  EXPECT_TRUE(Json::parse(reader.got[1].payload)["y"]["forecast"].is_number());
  EXPECT_TRUE(Eventually(20, [&] {
    const Json said = Stream("mill");
    return said.value("learned", 0) + said.value("unlearned", 0) == 199;
  })) << Stream("mill");
  EXPECT_EQ(Stream("mill")["refused"], Json::object());
}

/// What a message handler says, and how far it is.
class Clocked {
 public:
  explicit Clocked(const Broker& broker)
      : probe_(SettingsFor(broker.address(), "mill/+/forecast")) {
    EXPECT_TRUE(probe_.UntilUp());
  }

  /// Sends a message and returns its forecast; null: none came.
  Json Send(const std::string& device, const Json& message) {
    const std::size_t before = probe_.got.size();
    probe_.link->Publish("mill/" + device + "/data", message.dump(), 1);
    Json said;
    EXPECT_TRUE(probe_.Until([&] {
      for (std::size_t at = before; at < probe_.got.size(); ++at)
        if (probe_.got[at].topic == "mill/" + device + "/forecast" && !probe_.got[at].retained)
          said = Json::parse(probe_.got[at].payload);
      return !said.is_null();
    }));
    return said;
  }

 private:
  Probe probe_;
};

double Share(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

/// A message is learned when the version of the weights has grown, which the forecasts of a second
/// device say: its messages have no label, so nothing is learned from them. The time until the first
/// of these comes is that of learning and of one more message.
TEST_F(MessageHandler, ForecastsAndLearnsWithinMilliseconds) {
  ServeExample();
  Clocked handler(broker_);
  std::vector<double> forecast_ms, learned_ms;
  const auto begin = std::chrono::steady_clock::now();
  const auto now_ms = [begin] {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
        .count();
  };
  const auto version_now = [&handler] {
    return handler.Send("other", {{"x1", 0.5}, {"x2", 0.5}})["version"].get<std::uint64_t>();
  };
  std::uint64_t first = 0;
  while (first == 0 && !HasFailure()) first = version_now();
  std::uint64_t version = first;
  for (int i = 0; i < 520 && !HasFailure(); ++i) {
    const double sent_ms = now_ms();
    const Json said =
        handler.Send("m1", {{"x1", std::sin(i)}, {"x2", std::cos(i)}, {"y", std::sin(i) + 1}});
    const double forecast_after_ms = now_ms() - sent_ms;
    if (i == 0) continue;  // has no label before it, and is not learned
    const std::uint64_t before = version;
    while (version == before && !HasFailure()) version = version_now();
    const double learned_after_ms = now_ms() - sent_ms;
    if (i < 20) continue;
    forecast_ms.push_back(forecast_after_ms);
    learned_ms.push_back(learned_after_ms);
  }
  ASSERT_FALSE(HasFailure());
  std::printf(
      "row\tms from message to forecast: median %.3f, p99 %.3f; to a forecast by what it taught: "
      "median %.3f, p99 %.3f; %zu messages\n",
      Share(forecast_ms, 0.5), Share(forecast_ms, 0.99), Share(learned_ms, 0.5),
      Share(learned_ms, 0.99), forecast_ms.size());
  EXPECT_EQ(version, first + 519) << "each message is a step of its own";
  EXPECT_LT(Share(forecast_ms, 0.5), 50);
  EXPECT_LT(Share(learned_ms, 0.5), 100);
  EXPECT_TRUE(Counts("mill", "learned", 519)) << Stream("mill");
}

std::string Floats3(float a, float b, float c) { return Floats({a, b, c}); }

TEST_F(MessageHandler, ReadsEachFormatWithTheTargetAfterTheFields) {
  std::string config = "[server]\nlisten = [\"ipc\"]\n";
  for (const std::string name : {"json", "csv", "floats", "flatbuffer"})
    config +=
        "[stream." + name + "]\nbroker = \"" + broker_.address() + "\"\nsubscribe = \"" + name +
        "/{device}\"\nformat = \"" + name +
        "\"\nfields = [\"x1\", \"x2\"]\ntarget = \"y\"\nhorizon = 0\nhidden = 4\nwindow = 64\n" +
        "publish = \"out/" + name + "/{device}\"\n";
  place_.Write("formats.toml", config);
  Serve({"formats.toml"});
  for (const char* name : {"json", "csv", "floats", "flatbuffer"})
    ASSERT_TRUE(server_->Says(std::string("stream ") + name + ": broker " + broker_.address() +
                              ": connected"));
  Probe probe(SettingsFor(broker_.address(), "out/#"));
  ASSERT_TRUE(probe.UntilUp());
  for (int i = 0; i < 21; ++i) {
    const double y = i == 20 ? kNone : 10 + i;  // the last has none
    Json json = {{"x1", i}, {"x2", 1}};
    if (i < 20) json["y"] = y;
    probe.link->Publish("json/a", json.dump(), 1);
    probe.link->Publish("csv/a", std::to_string(i) + ",1," + (i < 20 ? std::to_string(y) : ""), 1);
    probe.link->Publish("floats/a", Floats3(static_cast<float>(i), 1, static_cast<float>(y)), 1);
    const std::vector<double> values = {1.0 * i, 1, y};
    probe.link->Publish("flatbuffer/a", Table(&values, 1'700'000'000'000'000'000 + i, i + 1), 1);
    const auto all = static_cast<std::size_t>(4 * (i + 1));
    ASSERT_TRUE(probe.Until([&] { return probe.got.size() >= all; })) << i;
  }
  for (std::size_t at = 80; at < 84; ++at)
    EXPECT_EQ(Json::parse(probe.got[at].payload)["y"]["baseline"], 29) << probe.got[at].topic;
  for (const char* name : {"json", "csv", "floats", "flatbuffer"}) {
    EXPECT_TRUE(Counts(name, "learned", 19)) << Stream(name);
    EXPECT_EQ(Stream(name)["refused"], Json::object());
    EXPECT_EQ(Stream(name)["fields"]["y"]["missing"], 1);
  }
}

/// Labels before, after and with their samples, on one topic.
TEST_F(MessageHandler, TakesLabelsOnTheTopicOfSamples) {
  place_.Write("lab.toml", "[server]\nlisten = [\"ipc\"]\n[stream.lab]\nbroker = \"" +
                               broker_.address() +
                               "\"\nsubscribe = \"lab/{device}\"\nlabel_topic = \"lab/{device}\"\n"
                               "fields = [\"a\"]\ntarget = \"y\"\nid = \"/id\"\nhidden = 4\n"
                               "early_labels = 2\npublish = \"out/{device}\"\n");
  Serve({"lab.toml"});
  Probe probe(SettingsFor(broker_.address(), "out/#"));
  ASSERT_TRUE(probe.UntilUp());
  const auto say = [&](const Json& message) { probe.link->Publish("lab/p", message.dump(), 1); };
  say({{"id", 1}, {"a", 1}, {"y", 5}});
  say({{"id", 2}, {"a", 1}});
  say({{"id", 2}, {"y", 6}});
  say({{"id", 3}, {"y", 7}});
  say({{"id", 3}, {"a", 1}});
  say({{"id", 4}, {"a", 1}});
  for (int id = 10; id < 13; ++id) say({{"id", id}, {"y", 7}});
  say({{"id", 3}, {"y", 7}});
  ASSERT_TRUE(probe.UntilGot(4));
  EXPECT_EQ(Json::parse(probe.got[3].payload)["y"]["baseline"], 7);
  EXPECT_TRUE(Counts("lab", "received", 10));
  EXPECT_TRUE(Counts("lab", "learned", 3));
  const Json said = Stream("lab");
  EXPECT_EQ(said["early"], 2);
  EXPECT_EQ(said["unmatched"], 1);
  EXPECT_EQ(said["rows"], 4);
  EXPECT_EQ(said["refused"], (Json{{"duplicate", 1}}));
  EXPECT_FALSE(said.contains("fields") && !said["fields"].empty()) << said["fields"];
}

/// Over ZeroMQ the target follows the fields in the values of a sample; NaN where it is not known.
TEST_F(MessageHandler, AnswersSamplesThatHaveTheirTargetAmongTheValues) {
  place_.Write("mill.toml",
               "[server]\nlisten = [\"ipc\"]\n[stream.mill]\nlisten = \"ipc://" + place_.path() +
                   "/samples\"\nfields = [\"x1\", \"x2\"]\ntarget = \"y\"\nhorizon = 0\n"
                   "hidden = 4\nwindow = 64\nquantiles = [0.1, 0.9]\n");
  server_.emplace(place_.path(),
                  std::vector<std::string>{"serve", "mill.toml", "--set", "run.name=handler"});
  ASSERT_TRUE(server_->Says("listens on")) << server_->Errors();
  PredictorOptions options;
  options.fields = {"x1", "x2", "y"};
  auto predictor = Predictor::Connect("ipc://" + place_.path() + "/samples", options);
  ASSERT_TRUE(predictor.ok()) << predictor.status();
  Predictor::Answer answer;
  for (int i = 0; i < 40; ++i) {
    const double values[] = {1.0 * i, 1, i == 39 ? kNone : 10.0 + i};
    ASSERT_TRUE(Eventually(20, [&] {
      if ((*predictor)->Send("m", values) == Predictor::Sent::kTaken) return true;
      (void)(*predictor)->Receive(&answer, 10);
      return false;
    })) << (*predictor)->State().reason;
    ASSERT_TRUE((*predictor)->Receive(&answer, 20'000));
    ASSERT_EQ(answer.outcome, Predictor::Outcome::kForecast) << answer.sentence;
    ASSERT_EQ(answer.values.size(), 1u);
    EXPECT_EQ(answer.due_ns[0], answer.time_ns);
    if (i > 0) {
      EXPECT_EQ(answer.values[0].baseline, 9.0 + i);
    } else {
      EXPECT_TRUE(std::isnan(answer.values[0].forecast));
    }
  }
  EXPECT_EQ(answer.values[0].count, 38u);
  EXPECT_EQ((*predictor)->stream().targets, std::vector<std::uint32_t>{2});
  EXPECT_EQ((*predictor)->stream().horizons, std::vector<std::uint32_t>{0});
  EXPECT_TRUE(Counts("mill", "learned", 38)) << Stream("mill");
}

}  // namespace
}  // namespace murmurate
