// `murmurate serve` of a stream, with a real broker: what is published comes back as forecasts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <nlohmann/json.hpp>
#include <numeric>

#include "tests/server/process.h"
#include "tests/stream/probe.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr double kPi = 3.14159265358979;

/// One number, and again after 20 messages.
double Wave(int i) { return 20 + 5 * std::sin(2 * kPi * i / 20); }

std::string ConfigFor(const Broker& broker, const std::string& more = "") {
  return "[server]\nlisten = [\"ipc\"]\n[run]\nlog_interval_s = 0.2\n[stream.temp]\nbroker = \"" +
         broker.address() +
         "\"\nsubscribe = \"sensors/{device}/data\"\nfields = [\"temp\"]\ntarget = \"temp\"\n"
         "sequence = \"/seq\"\nhidden = 16\nlearning_rate = 0.01\nscore_over = 50\n"
         "publish = \"sensors/{device}/forecast\"\nmetrics = \"sensors/{device}/error\"\n"
         "committed = \"sensors/{device}/committed\"\nstatus = \"sensors/forecaster\"\n" +
         more;
}

/// Sensors, and somebody who reads what comes of them.
class Plant {
 public:
  explicit Plant(const Broker& broker) : probe_(SettingsFor(broker.address(), "sensors/#")) {
    EXPECT_TRUE(probe_.UntilUp());
  }

  /// Message `i` of the device, and the forecast that answers it; null when none comes.
  Json Send(int i, const std::string& device = "a") {
    const std::size_t before = forecasts_;
    const std::string text = Json{{"temp", Wave(i)}, {"seq", i}}.dump();
    probe_.link->Publish("sensors/" + device + "/data", text, 1);
    const bool answered = probe_.Until([&] { return Read(device) > before; });
    return answered ? last_ : Json();
  }
  /// The last that came there.
  Json Last(const std::string& topic) const {
    Json last;
    for (const auto& got : probe_.got)
      if (got.topic == topic) last = Json::parse(got.payload);
    return last;
  }
  bool Until(const std::function<bool()>& condition) { return probe_.Until(condition); }

 private:
  std::size_t Read(const std::string& device) {
    for (; read_ < probe_.got.size(); ++read_) {
      const bool news = !probe_.got[read_].retained;
      if (!news || probe_.got[read_].topic != "sensors/" + device + "/forecast") continue;
      last_ = Json::parse(probe_.got[read_].payload);
      ++forecasts_;
    }
    return forecasts_;
  }

  Probe probe_;
  std::size_t read_ = 0, forecasts_ = 0;
  Json last_;
};

/// Sends from `begin` on until the last 100 forecasts are the model's, not the naive ones, and
/// their mean error is below 0.7 of the naive one, by the test's own count. The next message's
/// number.
int Teach(Plant* plant, int begin) {
  std::deque<double> own, naive;
  const auto mean = [](const std::deque<double>& of) {
    return std::accumulate(of.begin(), of.end(), 0.0) / static_cast<double>(of.size());
  };
  int i = begin;
  for (Json said; i < begin + 6000; ++i) {
    const Json last = std::exchange(said, plant->Send(i));
    if (said.is_null()) break;
    if (last.is_null() || last["temp"]["by"] != "model") continue;
    own.push_back(std::abs(last["temp"]["forecast"].get<double>() - Wave(i)));
    naive.push_back(std::abs(Wave(i - 1) - Wave(i)));
    if (own.size() < 100) continue;
    if (mean(own) < 0.7 * mean(naive)) return i + 1;
    own.pop_front();
    naive.pop_front();
  }
  ADD_FAILURE() << "after message " << i << " an error of " << mean(own) << ", naively "
                << mean(naive);
  return i;
}

class ServeStream : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!Broker::Installed()) GTEST_SKIP() << Broker::kMissing;
    ASSERT_TRUE(broker_.Start());
  }
  std::string Status() { return RunMurmurate(place_.path(), {"status", "sensors"}).output; }

  Broker broker_;
  Workplace place_;
};

TEST_F(ServeStream, ForecastsComeBackAndBecomeBetterThanTheLastValue) {
  place_.Write("sensors.toml", ConfigFor(broker_, "[checkpoint]\nevery_s = 0.2\n"));
  Process server(place_.path(), {"serve", "sensors.toml"});
  ASSERT_TRUE(server.Says(": connected")) << server.Errors() << server.Output();
  Plant plant(broker_);
  const Json first = plant.Send(1);
  EXPECT_EQ(first["device"], "a");
  EXPECT_EQ(first["temp"]["by"], "baseline");
  EXPECT_NEAR(first["temp"]["forecast"].get<double>(), Wave(1), 1e-5);
  const int next = Teach(&plant, 2);
  EXPECT_GT(plant.Last("sensors/a/error")["temp"]["skill"].get<double>(), 0);
  EXPECT_EQ(plant.Last("sensors/forecaster")["state"], "learning");
  EXPECT_TRUE(plant.Until([&] { return !plant.Last("sensors/a/committed").is_null(); }));
  EXPECT_LE(plant.Last("sensors/a/committed")["sequence"].get<int>(), next - 1);
  const std::string status = Status();
  EXPECT_THAT(status, HasSubstr("stream temp: connected to " + broker_.address()));
  EXPECT_THAT(status, HasSubstr(" of 1 devices"));
  server.Send(SIGINT);
  EXPECT_EQ(server.Wait(20), 0) << server.Errors();
  EXPECT_THAT(server.Output(), HasSubstr("stopped after stream temp: "));
  EXPECT_THAT(server.Output(), HasSubstr(" messages of 1 devices, "));
  EXPECT_THAT(server.Output(), HasSubstr(" forecasts published, "));
  EXPECT_THAT(server.Output(), HasSubstr(" pairs learned from; "));
  EXPECT_THAT(server.Output(), HasSubstr("; weights in "));
  EXPECT_TRUE(plant.Until([&] { return plant.Last("sensors/forecaster")["state"] == "offline"; }));
  EXPECT_EQ(place_.LeftBehind(), "");
  EXPECT_THAT(place_.Read("runs/sensors/reports.csv"), HasSubstr("stream/skill"));
}

TEST_F(ServeStream, GoesOnAfterAStopWithWhatItKnew) {
  place_.Write("sensors.toml", ConfigFor(broker_));
  int next = 0;
  {
    Process server(place_.path(), {"serve", "sensors.toml"});
    ASSERT_TRUE(server.Says(": connected"));
    Plant plant(broker_);
    (void)plant.Send(1);
    next = Teach(&plant, 2);
    server.Send(SIGINT);
    ASSERT_EQ(server.Wait(20), 0);
  }
  Process server(place_.path(), {"resume", "sensors"});
  ASSERT_TRUE(server.Says(": connected")) << server.Errors();
  EXPECT_THAT(server.Errors(), HasSubstr("model temp: goes on from"));
  Plant plant(broker_);
  double model = 0, naive = 0;  // over one period; the gap before its first message is unusual
  for (int i = next; i < next + 20; ++i) {
    const Json said = plant.Send(i);
    ASSERT_FALSE(said.is_null());
    EXPECT_EQ(said["temp"]["by"], "model");
    model += std::abs(said["temp"]["forecast"].get<double>() - Wave(i + 1));
    naive += std::abs(Wave(i) - Wave(i + 1));
  }
  EXPECT_LT(model, 0.9 * naive) << "a model that knew nothing would give the last value";
  server.Send(SIGINT);
  EXPECT_EQ(server.Wait(20), 0);
  EXPECT_EQ(place_.LeftBehind(), "");
}

TEST_F(ServeStream, WhatIsReplayedIsNotCountedAsLearnedAgain) {
  place_.Write("sensors.toml", ConfigFor(broker_, "replay = 100\n"));
  Process server(place_.path(), {"serve", "sensors.toml"});
  ASSERT_TRUE(server.Says(": connected")) << server.Errors();
  Plant plant(broker_);
  for (int i = 1; i <= 60; ++i) ASSERT_FALSE(plant.Send(i).is_null());
  const auto counted = [&](const char* key) {
    const Ran ran = RunMurmurate(place_.path(), {"status", "sensors", "--json"});
    const Json said = Json::parse(ran.output, nullptr, false);
    return said.is_object() ? said["streams"][0].value(key, 0) : -1;
  };
  EXPECT_TRUE(Eventually(20, [&] { return counted("learned") == 59; })) << counted("learned");
  EXPECT_EQ(counted("unlearned"), 0);
  // Of 59 batches of one pair and more, the first had nothing to draw from.
  const auto replayed = [&] {
    const std::string all = place_.Read("runs/sensors/reports.csv"), name = ",stream/replayed,";
    const std::size_t at = all.rfind(name);
    return at == all.npos ? 0 : std::stod(all.substr(at + name.size()));
  };
  EXPECT_TRUE(Eventually(20, [&] { return replayed() > 0; }));
  EXPECT_LE(replayed(), 58);
  server.Send(SIGINT);
  ASSERT_EQ(server.Wait(20), 0);
  const Json saved = Json::parse(place_.Read("runs/sensors/checkpoints/latest/state.json"));
  EXPECT_EQ(saved["words"]["stream.replay.random"].size(), 6u) << "what is drawn next";
  Process resumed(place_.path(), {"resume", "sensors"});
  ASSERT_TRUE(resumed.Says(": connected")) << resumed.Errors();
  EXPECT_FALSE(plant.Send(61).is_null());
  resumed.Send(SIGINT);
  EXPECT_EQ(resumed.Wait(20), 0);
}

TEST_F(ServeStream, WhatAFrozenStreamHasTakenIsKeptThoughNobodyLearns) {
  std::string config = ConfigFor(broker_, "learn = false\n[checkpoint]\nevery_s = 0.2\n");
  const std::string rate = "learning_rate = 0.01\n";  // which nothing learns by
  place_.Write("sensors.toml", config.erase(config.find(rate), rate.size()));
  Plant plant(broker_);
  const auto committed = [&] {
    const Json last = plant.Last("sensors/a/committed");
    return last.is_null() ? 0 : last["sequence"].get<int>();
  };
  {
    Process server(place_.path(), {"serve", "sensors.toml"});
    ASSERT_TRUE(server.Says(": connected")) << server.Errors();
    for (int i = 1; i <= 5; ++i) ASSERT_FALSE(plant.Send(i).is_null());
    ASSERT_TRUE(plant.Until([&] { return committed() == 5; })) << committed();
    server.Send(SIGKILL);
    ASSERT_EQ(server.Wait(20), 128 + SIGKILL);
  }
  Process server(place_.path(), {"resume", "sensors"});
  ASSERT_TRUE(server.Says(": connected")) << server.Errors();
  Probe sender(SettingsFor(broker_.address()));
  ASSERT_TRUE(sender.UntilUp());
  sender.link->Publish("sensors/a/data", "{\"temp\":1,\"seq\":5}", 1);
  sender.Until([&] { return server.Says("(duplicate)", 0.01); });
  ASSERT_FALSE(plant.Send(6).is_null());
  EXPECT_THAT(Status(), HasSubstr(", 6 messages ("));
  ASSERT_TRUE(plant.Until([&] { return committed() == 6; })) << committed();
  server.Send(SIGINT);
  EXPECT_EQ(server.Wait(20), 0);
}

TEST_F(ServeStream, TwoDaemonsLearnOneModelAroundAShard) {
  const std::string shared = "[parameters]\nmode = \"server\"\nshards = [\"ipc://" + place_.path() +
                             "/shard\"]\nrule = \"asgd\"\nworkers = 2\n";
  place_.Write("sensors.toml", ConfigFor(broker_, shared));
  Process shard(place_.path(), {"params", "sensors.toml", "--shard", "0"});
  ASSERT_TRUE(shard.Says("shard 0 of 1"));
  Process one(place_.path(), {"serve", "sensors.toml"});
  Process other(place_.path(),
                {"serve", "sensors.toml", "--set", "run.name=other", "--set", "parameters.worker=1",
                 "--set", "stream.temp.subscribe=plant/{device}/data", "--set",
                 "stream.temp.publish=plant/{device}/forecast", "--set",
                 "stream.temp.status=plant/forecaster"});
  ASSERT_TRUE(one.Says(": connected")) << one.Errors();
  ASSERT_TRUE(other.Says(": connected")) << other.Errors();
  Plant plant(broker_);
  Json said;
  for (int i = 1; i <= 40; ++i) ASSERT_FALSE((said = plant.Send(i)).is_null());
  EXPECT_GT(said["version"], 10);
  Probe sender(SettingsFor(broker_.address(), "plant/+/forecast"));  // it has learned nothing
  ASSERT_TRUE(sender.UntilUp());
  for (int i = 1; i <= 3; ++i)
    sender.link->Publish("plant/b/data", Json{{"temp", Wave(i)}, {"seq", i}}.dump(), 1);
  ASSERT_TRUE(sender.UntilGot(3)) << other.Errors();
  for (Process* process : {&one, &other, &shard}) {
    process->Send(SIGINT);
    EXPECT_EQ(process->Wait(20), 0) << process->Errors();
  }
}

TEST_F(ServeStream, ABrokerThatGoesAndComesBackIsWaitedFor) {
  place_.Write("sensors.toml", ConfigFor(broker_));
  Process server(place_.path(), {"serve", "sensors.toml"});
  ASSERT_TRUE(server.Says(": connected"));
  broker_.Kill();
  EXPECT_TRUE(Eventually(20, [&] {
    return Status().find(broker_.address() + " is down since") != std::string::npos;
  })) << Status();
  ASSERT_TRUE(broker_.Start());
  EXPECT_TRUE(Eventually(40, [&] {
    return Status().find("connected to " + broker_.address()) != std::string::npos;
  })) << Status();
  Plant plant(broker_);
  EXPECT_FALSE(plant.Send(1).is_null());
  server.Send(SIGINT);
  EXPECT_EQ(server.Wait(20), 0);
}

TEST_F(ServeStream, WhatIsRefusedIsCountedAndSaid) {
  place_.Write("sensors.toml", ConfigFor(broker_));
  Process server(place_.path(), {"serve", "sensors.toml"});
  ASSERT_TRUE(server.Says(": connected"));
  Plant plant(broker_);
  ASSERT_FALSE(plant.Send(1).is_null());
  Probe sender(SettingsFor(broker_.address()));
  ASSERT_TRUE(sender.UntilUp());
  sender.link->Publish("sensors/a/data", "{\"temp\":", 1);
  sender.link->Publish("sensors/a/data", "{\"temp\":1,\"seq\":1}", 1);
  sender.Until([&] { return server.Says("(duplicate)", 0.01); });
  EXPECT_THAT(server.Output() + server.Errors(), HasSubstr("refused 1 messages (malformed): "));
  EXPECT_THAT(Status(), HasSubstr("  refused messages (duplicate): 1\n"));
  EXPECT_FALSE(plant.Send(2).is_null());
  server.Send(SIGINT);
  EXPECT_EQ(server.Wait(20), 0);
}

TEST_F(ServeStream, AnAlarmIsPublishedWhenItIsRaisedAndWhenItIsCleared) {
  place_.Write("sensors.toml", ConfigFor(broker_,
                                         "[stream.temp.alarm]\nwhen = \"value > 24\"\nfor = 3\n"
                                         "publish = \"sensors/{device}/alarm\"\n"));
  Process server(place_.path(), {"serve", "sensors.toml"});
  ASSERT_TRUE(server.Says(": connected")) << server.Errors();
  Plant plant(broker_);
  const auto last = [&] { return plant.Last("sensors/a/alarm"); };
  for (int i = 1; i <= 4; ++i) ASSERT_FALSE(plant.Send(i).is_null());  // above 24 since the third
  EXPECT_TRUE(last().is_null());
  ASSERT_FALSE(plant.Send(5).is_null());
  ASSERT_TRUE(plant.Until([&] { return !last().is_null(); }));
  EXPECT_EQ(last()["device"], "a");
  EXPECT_EQ(last()["alarm"], true);
  EXPECT_EQ(last()["when"], "value > 24");
  EXPECT_NEAR(last()["temp"]["value"].get<double>(), Wave(5), 1e-5);
  for (int i = 6; i <= 8; ++i) ASSERT_FALSE(plant.Send(i).is_null());  // the eighth is below
  EXPECT_TRUE(plant.Until([&] { return last()["alarm"] == false; }));
  EXPECT_NEAR(last()["temp"]["value"].get<double>(), Wave(8), 1e-5);
  EXPECT_TRUE(Eventually(20, [&] {
    return place_.Read("runs/sensors/reports.csv").find("stream/alarms") != std::string::npos;
  }));
  server.Send(SIGINT);
  EXPECT_EQ(server.Wait(20), 0) << server.Errors();
}

/// Both listen where they usually do, which is not where games look for a learner.
TEST_F(ServeStream, TwoOfOneHostRunSideBySideAndStatusKnowsTheOneOfItsFolder) {
  const std::string sockets = "[server]\nlisten = [\"ipc\"]\n", config = ConfigFor(broker_);
  ASSERT_TRUE(config.starts_with(sockets));
  place_.Write("sensors.toml", config.substr(sockets.size()));
  place_.Write("others.toml", config.substr(sockets.size()));
  Process first(place_.path(), {"serve", "sensors.toml"});
  Process second(place_.path(), {"serve", "others.toml", "--set", "run.dir=elsewhere"});
  ASSERT_TRUE(first.Says(": connected")) << first.Errors();
  ASSERT_TRUE(second.Says(": connected")) << second.Errors();
  EXPECT_THAT(place_.Read("runs/sensors/address.json"), testing::Not(HasSubstr("tcp://")));
  EXPECT_THAT(RunMurmurate(place_.path(), {"status"}).output, HasSubstr("run sensors ("));
  EXPECT_THAT(RunMurmurate(place_.path(), {"status", "--set", "run.dir=elsewhere"}).output,
              HasSubstr("run others ("));
  for (Process* server : {&first, &second}) {
    server->Send(SIGINT);
    EXPECT_EQ(server->Wait(20), 0);
  }
}

TEST(ServeStreamRefusal, TrainSaysThatStreamsAreServed) {
  Workplace place;
  place.Write("s.toml", "[stream.t]\nsubscribe = \"x\"\nfields = [\"v\"]\ntarget = \"v\"\n");
  const Ran ran = RunMurmurate(place.path(), {"train", "s.toml"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.errors, HasSubstr("s.toml:1: [stream.t]: messages come when they come, and train "
                                    "starts players of a game; use `murmurate serve s.toml`"));
}

TEST(ServeStreamRefusal, CheckShowsTheModelAndWhatADeviceCosts) {
  Workplace place;
  place.Write("s.toml", "[stream.t]\nsubscribe = \"x\"\nfields = [\"v\"]\ntarget = \"v\"\n");
  const Ran ran = RunMurmurate(place.path(), {"check", "s.toml"});
  EXPECT_EQ(ran.code, 0) << ran.errors;
  EXPECT_THAT(ran.output, HasSubstr("stream t: reads x at mqtt://localhost:1883 and forecasts v 1 "
                                    "row ahead; remembers "));
  EXPECT_THAT(ran.output, HasSubstr("lstm 32"));
  const Ran replays =
      RunMurmurate(place.path(), {"check", "s.toml", "--set", "stream.t.replay=10"});
  EXPECT_EQ(replays.code, 0) << replays.errors;
  EXPECT_THAT(replays.output, HasSubstr("keeps 10 sequences to learn again, "));
  place.Write("p.toml",
              "[stream.t]\nsubscribe = \"x\"\nfields = [\"v\"]\ntarget = \"v\"\nuser = "
              "\"u\"\npassword_file = \"missing.txt\"\n");
  const Ran refused = RunMurmurate(place.path(), {"check", "p.toml"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.errors, HasSubstr("p.toml:1: [stream.t]: "));
  EXPECT_THAT(refused.errors, HasSubstr("missing.txt"));
}

}  // namespace
}  // namespace murmurate
