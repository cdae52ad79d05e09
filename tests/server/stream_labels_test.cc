// `murmurate serve` of streams whose labels come later and whose payloads name the device, with a
// real broker.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "tests/server/process.h"
#include "tests/stream/probe.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

/// Samples have a number from -1 to 1; their quality is known later.
double ForceOf(int i) { return 2 * std::fmod(i * 0.6180339887, 1.0) - 1; }
double QualityOf(int i) { return 70 + 10 * ForceOf(i); }

/// Presses that send, a lab that measures later, and who reads what comes of them.
class Factory {
 public:
  explicit Factory(const Broker& broker) : probe_(SettingsFor(broker.address(), "press/#")) {
    EXPECT_TRUE(probe_.UntilUp());
  }

  void Publish(const std::string& topic, const Json& payload) {
    probe_.link->Publish(topic, payload.dump(), 1);
  }
  /// Sample `i`, and the forecast that answers it; null when none comes.
  Json Send(int i, const std::string& device = "a") {
    const std::size_t before = probe_.got.size();
    Publish("press/data", {{"device", device}, {"force", ForceOf(i)}, {"id", i}, {"seq", i + 1}});
    Json said;
    probe_.Until([&] {
      for (std::size_t at = before; at < probe_.got.size(); ++at)
        if (!probe_.got[at].retained && probe_.got[at].topic == "press/" + device + "/forecast")
          said = Json::parse(probe_.got[at].payload);
      return !said.is_null();
    });
    return said;
  }
  void Label(int i, const std::string& device = "a") {
    Publish("lab/" + device, {{"id", i}, {"quality", QualityOf(i)}});
  }
  Json Last(const std::string& topic) const {
    Json last;
    for (const auto& got : probe_.got)
      if (got.topic == topic) last = Json::parse(got.payload);
    return last;
  }
  std::size_t Count(const std::string& topic) const {
    return static_cast<std::size_t>(
        std::ranges::count(probe_.got, topic, [](const auto& got) { return got.topic; }));
  }
  bool Until(const std::function<bool()>& condition) { return probe_.Until(condition); }
  /// Until the broker has all.
  bool Deliver() {
    return Until([this] { return probe_.link->in_flight() == 0; });
  }

  /// Sends from `begin` on, each label seven samples late, until the model is published, and then
  /// 100 more: their mean errors, and which comes next.
  std::tuple<double, double, int> Teach(int begin) {
    double error = 0, naive = 0;
    int i = begin, by_model = 0;
    for (; by_model < 100 && i < begin + 6000; ++i) {
      const Json said = Send(i);
      if (said.is_null()) break;
      if (i >= 7) Label(i - 7);
      if (by_model == 0 && said["quality"]["by"] != "model") continue;
      ++by_model;
      error += std::abs(said["quality"]["forecast"].get<double>() - QualityOf(i)) / 100;
      naive += std::abs(said["quality"]["baseline"].get<double>() - QualityOf(i)) / 100;
    }
    EXPECT_EQ(by_model, 100) << "after sample " << i;
    return {error, naive, i};
  }

 private:
  Probe probe_;
};

class ServeLabels : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!Broker::Installed()) GTEST_SKIP() << Broker::kMissing;
    ASSERT_TRUE(broker_.Start());
    place_.Write("press.toml",
                 "[server]\nlisten = [\"ipc\"]\n[run]\nlog_interval_s = 0.2\n[stream.press]\n"
                 "broker = \"" +
                     broker_.address() +
                     "\"\nsubscribe = \"press/data\"\ndevice = \"/device\"\nfields = [\"force\"]\n"
                     "target = \"quality\"\nlabel_topic = \"lab/{device}\"\nid = \"/id\"\n"
                     "label_window = 50\nsequence = \"/seq\"\nwindow = 2\nmodel = \"gru\"\n"
                     "hidden = 16\nlearning_rate = 0.01\nscore_over = 50\n"
                     "publish = \"press/{device}/forecast\"\nmetrics = \"press/{device}/error\"\n"
                     "committed = \"press/{device}/committed\"\nstatus = \"press/forecaster\"\n"
                     "[checkpoint]\nevery_s = 0.2\n");
  }
  /// What `status` says was refused.
  int Refused(Factory* factory, const std::string& word) {
    const Json said = factory->Last("press/forecaster");
    return said.is_null() ? 0 : said["refused"].value(word, 0);
  }

  Broker broker_;
  Workplace place_;
};

TEST_F(ServeLabels, TeachWhatSamplesSaidBeforeAndOverARestart) {
  int next = 0;
  {
    Process server(place_.path(), {"serve", "press.toml"});
    ASSERT_TRUE(server.Says(": connected")) << server.Errors() << server.Output();
    Factory factory(broker_);
    const Json first = factory.Send(0);
    ASSERT_FALSE(first.is_null());
    EXPECT_TRUE(first["quality"]["forecast"].is_null()) << "no label is known";
    EXPECT_EQ(first["for"], first["time"]);
    const auto [error, naive, after] = factory.Teach(1);
    EXPECT_LT(error, 0.7 * naive);
    EXPECT_GT(factory.Last("press/a/error")["quality"]["skill"].get<double>(), 0);
    next = after;
    server.Send(SIGINT);
    ASSERT_EQ(server.Wait(20), 0) << server.Errors();
  }
  Process server(place_.path(), {"resume", "press"});
  ASSERT_TRUE(server.Says(": connected")) << server.Errors();
  Factory factory(broker_);
  factory.Label(next - 5);  // of a sample from before the stop
  factory.Label(next - 5);
  factory.Label(next - 9);  // which had its label before the stop
  const Json said = factory.Send(next);
  ASSERT_FALSE(said.is_null());
  EXPECT_EQ(said["quality"]["by"], "model");
  EXPECT_NEAR(said["quality"]["baseline"].get<double>(), QualityOf(next - 5), 1e-3);
  EXPECT_TRUE(factory.Until([&] { return Refused(&factory, "duplicate") == 2; }));
  server.Send(SIGINT);
  EXPECT_EQ(server.Wait(20), 0) << server.Errors();
  EXPECT_EQ(place_.LeftBehind(), "");
}

TEST_F(ServeLabels, SentAgainAfterAKillAreEachLearnedOnce) {
  constexpr int kAll = 45;  // less than label_window
  std::optional<Process> server;
  server.emplace(place_.path(), std::vector<std::string>{"serve", "press.toml"});
  ASSERT_TRUE(server->Says(": connected")) << server->Errors() << server->Output();
  Factory factory(broker_);
  for (int i = 0; i < 20; ++i) ASSERT_FALSE(factory.Send(i).is_null());
  for (int i = 0; i < 15; ++i) factory.Label(i);
  ASSERT_TRUE(factory.Until([&] { return !factory.Last("press/a/committed").is_null(); }));
  for (int i = 20; i < kAll; ++i) ASSERT_FALSE(factory.Send(i).is_null());
  for (int i = 15; i < 30; ++i) factory.Label(i);
  ASSERT_TRUE(factory.Deliver());
  const std::size_t told = factory.Count("press/a/committed");
  server->Send(SIGKILL);
  ASSERT_EQ(server->Wait(20), 128 + SIGKILL);
  server.emplace(place_.path(), std::vector<std::string>{"resume", "press"});
  ASSERT_TRUE(factory.Until([&] { return factory.Count("press/a/committed") > told; }))
      << server->Errors();
  for (int i = factory.Last("press/a/committed")["sequence"]; i < kAll; ++i)
    ASSERT_FALSE(factory.Send(i).is_null()) << i;
  for (int i = 0; i < kAll; ++i) factory.Label(kAll - 1 - i);
  ASSERT_TRUE(factory.Deliver());
  const auto stream = [&] {
    const Ran ran = RunMurmurate(place_.path(), {"status", "press", "--json"});
    const Json said = Json::parse(ran.output, nullptr, false);
    return said.is_object() && !said["streams"].empty() ? said["streams"][0] : Json();
  };
  EXPECT_TRUE(Eventually(20, [&] {
    const Json now = stream();
    return !now.is_null() && now["learned"] == kAll;
  })) << stream();
  const Json last = stream();
  EXPECT_EQ(last["unlearned"], 0);
  EXPECT_EQ(last["messages"], kAll);
  for (const auto& [word, count] : last["refused"].items()) EXPECT_EQ(word, "duplicate");
  server->Send(SIGINT);
  EXPECT_EQ(server->Wait(20), 0) << server->Errors();
}

TEST_F(ServeLabels, WhatFitsNoSampleIsCountedByItsReason) {
  Process server(place_.path(), {"serve", "press.toml", "--set", "stream.press.early_labels=0"});
  ASSERT_TRUE(server.Says(": connected")) << server.Errors() << server.Output();
  Factory factory(broker_);
  ASSERT_FALSE(factory.Send(0).is_null());
  factory.Label(1);
  factory.Label(0, "nobody");
  factory.Publish("lab/a", {{"quality", 3}});
  factory.Publish("lab/a", {{"id", 0}});
  for (const char* device : {"a/b", "#", "", "$SYS", "a\tb"})
    factory.Publish("press/data", {{"device", device}, {"force", 1}, {"id", 1}, {"seq", 2}});
  EXPECT_TRUE(factory.Until([&] {
    return Refused(&factory, "unknown_id") == 2 && Refused(&factory, "no_id") == 1 &&
           Refused(&factory, "no_field") == 1 && Refused(&factory, "bad_device_name") == 4 &&
           Refused(&factory, "empty_device") == 1;
  })) << factory.Last("press/forecaster");
  EXPECT_TRUE(server.Says("(unknown_id): the label has the id of no sample that is kept"));
  ASSERT_FALSE(factory.Send(1).is_null()) << "and nothing ended";
  server.Send(SIGINT);
  EXPECT_EQ(server.Wait(20), 0) << server.Errors();
}

TEST(CheckLabels, ShowsWhatComesLaterAndExplainsItsKeys) {
  Workplace place;
  place.Write("s.toml",
              "[stream.t]\nsubscribe = \"x/{device}\"\nfields = [\"v\"]\ntarget = \"quality\"\n"
              "label_topic = \"lab/{device}\"\nid = \"/id\"\n");
  const Ran ran = RunMurmurate(place.path(), {"check", "s.toml"});
  EXPECT_EQ(ran.code, 0) << ran.errors;
  EXPECT_THAT(ran.output, HasSubstr("forecasts quality of each row, which lab/{device} says later; "
                                    "remembers "));
  for (const char* meaning :
       {"topics where the target of each row comes later", "where a sample and its label say which",
        "rows of a device after which a label comes too late", "where a message says who sends it"})
    EXPECT_THAT(ran.output, HasSubstr(meaning));
}

}  // namespace
}  // namespace murmurate
