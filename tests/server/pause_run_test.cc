// Learning that is paused while real games play.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/page/page_of_run.h"
#include "tests/server/process.h"
#include "tests/server/service_stage.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kSmall[] =
    "[run]\nenvironment = \"cartpole\"\nactors = 1\nagents = 4\nlog_interval_s = 0.2\n"
    "steps = 100_000_000\n[algorithm]\ntrajectory_length = 64\nbatch_steps = 1024\n"
    "minibatch = 256\nepochs = 1\n[evaluation]\nevery = 0\n[checkpoint]\nevery_s = 0\n";

Json StatusOf(const Workplace& place, const std::string& run) {
  const Ran ran = RunMurmurate(place.path(), {"status", run, "--json"});
  const Json status = Json::parse(ran.output, nullptr, false);
  return status.is_object() ? status : Json::object();
}

std::uint64_t VersionOf(const Workplace& place, const std::string& run) {
  const Json status = StatusOf(place, run);
  if (!status.contains("models") || status["models"].empty()) return 0;
  return status["models"][0].value("version", std::uint64_t{0});
}

bool LearnsOn(const Workplace& place, const std::string& run, std::uint64_t from) {
  return Eventually(20, [&] { return VersionOf(place, run) > from; });
}

/// What `murmurate pause` or `unpause` says.
std::string Ask(const Workplace& place, const std::string& verb, const std::string& run) {
  const Ran ran = RunMurmurate(place.path(), {verb, run});
  EXPECT_EQ(ran.code, 0) << ran.errors;
  return ran.output;
}

void Rest(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

/// Once the batch under way has ended, the version stands for a second.
void ExpectToStand(const Workplace& place, const std::string& run) {
  std::uint64_t version = 0;
  EXPECT_TRUE(Eventually(20, [&] {
    version = VersionOf(place, run);
    Rest(500);
    return version > 0 && VersionOf(place, run) == version;
  })) << "it learns on";
  Rest(1000);
  EXPECT_EQ(VersionOf(place, run), version);
}

class PausedRun : public ::testing::TestWithParam<const char*> {
 protected:
  const Workplace place_;
};

/// Of an algorithm that learns from each batch once, and of one that learns from a replay.
TEST_P(PausedRun, StandsUntilItIsUnpausedAndSaysSo) {
  const std::string example = GetParam();
  Process train(place_.path(), {"train", example, "--quiet", "--set", "run.stop_at_return=1000",
                                "--set", "run.steps=100000000", "--set", "evaluation.every=0"});
  ASSERT_TRUE(LearnsOn(place_, example, 2)) << train.Errors();
  EXPECT_THAT(Ask(place_, "pause", example), HasSubstr("learning is paused by `murmurate pause`"));
  ExpectToStand(place_, example);
  const Json status = StatusOf(place_, example);
  EXPECT_THAT(status["paused"]["by"], HasSubstr("`murmurate pause` of user "));
  EXPECT_THAT(status["paused"]["since"], HasSubstr(" UTC"));
  EXPECT_THAT(status["waiting"].dump(), Not(HasSubstr("paused"))) << "it is said once";
  const std::string text = RunMurmurate(place_.path(), {"status", example}).output;
  EXPECT_THAT(text, HasSubstr("\nlearning is paused by `murmurate pause` of user "));
  EXPECT_EQ(text.find("learning is paused"), text.rfind("learning is paused")) << text;
  EXPECT_EQ(status["actors"][0]["health"], "live");
  const std::uint64_t version = VersionOf(place_, example);
  EXPECT_THAT(Ask(place_, "unpause", example), HasSubstr("learning goes on after a pause of "));
  EXPECT_TRUE(LearnsOn(place_, example, version));
  EXPECT_FALSE(StatusOf(place_, example).contains("paused"));
  EXPECT_THAT(Ask(place_, "unpause", example), HasSubstr("learning is not paused"));
  const std::string log = place_.Read("runs/" + example + "/log.txt");
  EXPECT_THAT(log, HasSubstr("learning is paused by `murmurate pause` of user "));
  EXPECT_THAT(log, HasSubstr("learning goes on after a pause of "));
}

INSTANTIATE_TEST_SUITE_P(Algorithms, PausedRun, ::testing::Values("cartpole", "cartpole-dqn"));

TEST(Pause, AStopEndsItAtOnceAndTheRunGoesOnUnpaused) {
  const Workplace place;
  place.Write("c.toml", kSmall);
  Process train(place.path(), {"train", "c.toml", "--quiet"});
  ASSERT_TRUE(LearnsOn(place, "c", 2)) << train.Errors();
  (void)Ask(place, "pause", "c");
  EXPECT_EQ(RunMurmurate(place.path(), {"stop", "c"}).code, 0);
  EXPECT_EQ(train.Wait(20), 0) << train.Errors();
  EXPECT_TRUE(place.Has("runs/c/checkpoints/latest/weights.safetensors"));
  Process again(place.path(), {"resume", "runs/c", "--quiet"});
  ASSERT_TRUE(LearnsOn(place, "c", 0)) << again.Errors();
  const std::uint64_t version = VersionOf(place, "c");
  EXPECT_TRUE(LearnsOn(place, "c", version)) << again.Errors();
  EXPECT_FALSE(StatusOf(place, "c").contains("paused"));
}

TEST(Pause, ARunThatIsKilledWhilePausedGoesOnUnpaused) {
  const Workplace place;
  place.Write("c.toml", std::string(kSmall) + "every_steps = 2048\n");
  Process train(place.path(), {"train", "c.toml", "--quiet"});
  ASSERT_TRUE(
      Eventually(20, [&] { return place.Has("runs/c/checkpoints/latest/weights.safetensors"); }));
  (void)Ask(place, "pause", "c");
  train.Send(SIGKILL);
  (void)train.Wait(10);
  Process again(place.path(), {"resume", "runs/c", "--quiet"});
  ASSERT_TRUE(Eventually(20, [&] { return VersionOf(place, "c") > 0; })) << again.Errors();
  const std::uint64_t version = VersionOf(place, "c");
  EXPECT_TRUE(LearnsOn(place, "c", version));
  EXPECT_FALSE(StatusOf(place, "c").contains("paused"));
}

TEST(Pause, LockStepActorsFinishTheirRoundWhenThePausedRunStops) {
  const Workplace place;
  place.Write("c.toml", std::string(kSmall) + "[server]\nlisten = [\"ipc\"]\n");
  Process serve(place.path(), {"serve", "c.toml", "--quiet"});
  std::string address;
  ASSERT_TRUE(Eventually(20, [&] {
    const Json json = Json::parse(place.Read("runs/c/address.json"), nullptr, false);
    if (json.is_object()) address = json["listen"][0];
    return !address.empty();
  }));
  Process actor(place.path(), {"actor", "cartpole", "--connect", address, "--pace", "lockstep",
                               "--agents", "2", "--quiet"});
  ASSERT_TRUE(LearnsOn(place, "c", 2)) << serve.Errors() << actor.Errors();
  (void)Ask(place, "pause", "c");
  ExpectToStand(place, "c");
  serve.Send(SIGTERM);
  EXPECT_EQ(serve.Wait(20), 0) << serve.Errors();
  EXPECT_THAT(place.Read("runs/c/log.txt"), Not(HasSubstr("does not go on bit for bit")));
}

/// Messages that a stream takes meanwhile are kept as those of one that learns nothing.
TEST(Pause, AStreamWritesItsTimedCheckpointsMeanwhile) {
  const Workplace place;
  place.Write("c.toml",
              "[server]\nlisten = [\"ipc\"]\n[stream.temp]\nlisten = \"tcp://127.0.0.1:*\"\n"
              "fields = [\"temp\", \"hum\", \"vib\"]\ntarget = \"temp\"\nhorizon = 1\n"
              "[checkpoint]\nevery_s = 0.2\n");
  Process serve(place.path(), {"serve", "c.toml"});
  const std::string before = "listens on ";
  ASSERT_TRUE(serve.Says(before + "tcp://")) << serve.Errors();
  std::string address = serve.Errors().substr(serve.Errors().find(before) + before.size());
  address = address.substr(0, address.find_first_of(" \n"));
  Process sensors(place.path(), {"actor", "sensors", "--connect", address, "--seconds", "200"});
  ASSERT_TRUE(LearnsOn(place, "c", 2)) << serve.Errors();
  (void)Ask(place, "pause", "c");
  ExpectToStand(place, "c");
  const auto written = [&] {
    const Json status = StatusOf(place, "c");
    if (!status.contains("models") || status["models"].empty()) return 0;
    return status["models"][0].value("checkpoints_written", 0);
  };
  const int earlier = written();
  EXPECT_TRUE(Eventually(40, [&] { return written() >= earlier + 3; })) << written();
  EXPECT_TRUE(StatusOf(place, "c").contains("paused"));
}

TEST(Pause, OfSeveralLearnersTheFirstIsPausedAloneAndSaysSo) {
  const Workplace place;
  place.Write("c.toml", kSmall);
  Process train(place.path(),
                {"train", "c.toml", "--learners", "2", "--quiet", "--set", "run.actors=2"});
  ASSERT_TRUE(LearnsOn(place, "c", 2)) << train.Errors();
  EXPECT_THAT(Ask(place, "pause", "c"), HasSubstr("; other learners of its model go on\n"));
  ExpectToStand(place, "c");
  const std::string other = "runs/c/learner-1";
  const std::uint64_t version = VersionOf(place, other);
  EXPECT_TRUE(Eventually(40, [&] { return VersionOf(place, other) > version; }));
  EXPECT_FALSE(StatusOf(place, other).contains("paused"));
  EXPECT_TRUE(StatusOf(place, "c").contains("paused"));
}

TEST(Pause, ThePageBeginsAndEndsItAndWritesCheckpointsMeanwhile) {
  const Workplace place;
  place.Write("c.toml", kSmall);
  Process train(place.path(), {"train", "c.toml", "--set", kAnyPort, "--set", "page.control=true"});
  const int port = AwaitPage(place, "c");
  ASSERT_GT(port, 0) << train.Errors();
  auto client = ClientOf(port);
  EXPECT_EQ(client.Post("/api/pause", "", "text/plain")->status, 403) << "no token";
  std::string token = place.Read("runs/c/page.token");
  token = token.substr(0, token.find('\n'));
  const httplib::Headers own{{"X-Murmurate-Token", token}};
  const httplib::Headers other{{"X-Murmurate-Token", token}, {"Origin", "http://evil.example"}};
  EXPECT_EQ(client.Post("/api/pause", other, "", "text/plain")->status, 403) << "another site";
  ASSERT_TRUE(LearnsOn(place, "c", 2)) << train.Errors();
  EXPECT_THAT(client.Post("/api/pause", own, "", "text/plain")->body,
              HasSubstr("learning is paused by the live page since "));
  ExpectToStand(place, "c");
  EXPECT_FALSE(place.Has("runs/c/checkpoints/latest"));
  EXPECT_EQ(client.Post("/api/checkpoint", own, "", "text/plain")->status, 200);
  EXPECT_TRUE(
      Eventually(20, [&] { return place.Has("runs/c/checkpoints/latest/weights.safetensors"); }));
  EXPECT_TRUE(Eventually(20, [&] {  // a snapshot is at most a second old
    return Json::parse(client.Get("/api/status")->body).contains("paused");
  }));
  const std::uint64_t version = VersionOf(place, "c");
  EXPECT_THAT(client.Post("/api/unpause", own, "", "text/plain")->body,
              HasSubstr("ended by the live page"));
  EXPECT_TRUE(LearnsOn(place, "c", version));
}

TEST(Pause, TheServiceManagerHearsThatTheLearnerLives) {
  const Workplace place;
  const NotifySocket manager("@murmurate-paused-" + std::to_string(getpid()));
  ASSERT_TRUE(manager.good());
  place.Write("c.toml", kSmall);
  Process train(place.path(), {"train", "c.toml", "--quiet"},
                {"env", "NOTIFY_SOCKET=" + manager.name(), "WATCHDOG_USEC=4000000"});
  ASSERT_TRUE(LearnsOn(place, "c", 2)) << train.Errors();
  (void)Ask(place, "pause", "c");
  EXPECT_TRUE(manager.Hears("STATUS=", 20'000));
  manager.Empty();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(manager.Hears("WATCHDOG=1", 4000)) << i;
}

}  // namespace
}  // namespace murmurate
