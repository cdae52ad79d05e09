// The daemon as processes see it: start, refusals, a clean end.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/sanitized.h"
#include "tests/server/process.h"

namespace murmurate {
namespace {

using ::testing::AnyOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

const std::string kIpc = "server.listen=[\"ipc\"]";
const std::string kAnyPort = "server.listen=[\"tcp://127.0.0.1:*\",\"ipc\"]";

/// The address of a live learner at `index` of its list.
std::string AddressOf(const Workplace& place, const std::string& run, std::size_t index = 0) {
  std::string found;
  Eventually(20, [&] {
    const auto json =
        nlohmann::json::parse(place.Read("runs/" + run + "/address.json"), nullptr, false);
    if (json.is_object()) found = json["listen"][index];
    return !found.empty();
  });
  return found;
}

/// A tcp port that somebody listens on while this lives.
struct BusyPort {
  BusyPort() : fd(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(fd, 1), 0);
    getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
    port = ntohs(address.sin_port);
  }
  ~BusyPort() { close(fd); }
  int fd;
  int port = 0;
};

TEST(Serve, ABusyPortIsSixAndNamed) {
  Workplace place;
  BusyPort busy;
  const std::string address = "tcp://127.0.0.1:" + std::to_string(busy.port);
  const Ran ran = RunMurmurate(
      place.path(), {"serve", "--quiet", "--set", "server.listen=[\"" + address + "\"]"});
  EXPECT_EQ(ran.code, 6);
  EXPECT_THAT(ran.errors, HasSubstr(address));
  EXPECT_EQ(std::count(ran.errors.begin(), ran.errors.end(), '\n'), 1) << ran.errors;
  EXPECT_EQ(place.LeftBehind(), "");
}

TEST(Serve, ASecondLearnerOnTheRunDirectoryIsSixAndNamesTheFirst) {
  Workplace place;
  Process first(place.path(), {"serve", "--set", kIpc});
  ASSERT_TRUE(first.Says("murmurate serves")) << first.Errors();
  const Ran second = RunMurmurate(place.path(), {"serve", "--set", kIpc});
  EXPECT_EQ(second.code, 6);
  EXPECT_THAT(second.errors, HasSubstr("process " + std::to_string(first.pid())));
  EXPECT_TRUE(first.running());
}

TEST(Serve, ASecondLearnerOnTheSameEndpointIsSix) {
  Workplace place;
  Process first(place.path(), {"serve", "--set", kAnyPort});
  const std::string address = AddressOf(place, "serve");
  const Ran second = RunMurmurate(place.path(), {"serve", "--set", "run.name=b", "--set",
                                                 "server.listen=[\"" + address + "\"]"});
  EXPECT_EQ(second.code, 6) << second.errors;
  EXPECT_THAT(second.errors, HasSubstr(address));
  EXPECT_TRUE(first.running());
}

TEST(Serve, AnEarlierRunIsKeptUnlessFresh) {
  Workplace place;
  {
    Process first(place.path(), {"serve", "--set", kIpc});
    ASSERT_TRUE(first.Says("murmurate serves"));
    first.Send(SIGTERM);
    EXPECT_EQ(first.Wait(5), 0) << first.Errors();
  }
  const Ran again = RunMurmurate(place.path(), {"serve", "--set", kIpc});
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.errors, HasSubstr("--fresh"));
  Process fresh(place.path(), {"serve", "--fresh", "--set", kIpc});
  EXPECT_TRUE(fresh.Says("murmurate serves"));
  EXPECT_TRUE(place.Has("runs/serve.1/config.toml"));
}

TEST(Serve, FreshBeginsWithTheWeightsOfTheRunItMovesAside) {
  Workplace place;
  const std::vector<std::string> serve = {
      "serve", "--fresh",
      "--set", kIpc,
      "--set", "run.name=again",
      "--set", "model.initialize_from=runs/again/checkpoints/latest/weights.safetensors"};
  const Ran first = RunMurmurate(place.path(), {"train", "cartpole", "--set", "run.name=again",
                                                "--set", "run.stop_at_steps=2000"});
  ASSERT_EQ(first.code, 1) << first.errors;  // done before it was solved
  Process learner(place.path(), serve);
  ASSERT_TRUE(learner.Says("murmurate serves")) << learner.Errors();
  const Ran actor = RunMurmurate(place.path(), {"actor", "cartpole", "--connect",
                                                AddressOf(place, "again"), "--steps", "100"});
  EXPECT_EQ(actor.code, 0) << actor.errors;
  EXPECT_THAT(place.Read("runs/again/log.txt"), HasSubstr("12 of 15 tensors"));
}

class ServeEnds : public ::testing::TestWithParam<int> {};

TEST_P(ServeEnds, ASignalLeavesNothing) {
  const std::string run = UniqueRun();
  Workplace place;
  Process serve(place.path(), {"serve", "--set", kAnyPort, "--set", "run.name=" + run, "--set",
                               "run.log_interval_s=1"});
  Process actor(place.path(), {"actor", "cartpole", "--connect", AddressOf(place, run)});
  ASSERT_TRUE(Eventually(20, [&] { return SegmentsOf(run) == 1; })) << serve.Errors();
  ASSERT_TRUE(serve.Says("  return ")) << serve.Output();  // a progress line: it learns
  serve.Send(GetParam());
  EXPECT_EQ(serve.Wait(5), 0) << serve.Errors();
  EXPECT_EQ(actor.Wait(2), 0) << actor.Errors();
  EXPECT_EQ(SegmentsOf(run), 0);
  EXPECT_EQ(place.LeftBehind(), "");
  EXPECT_TRUE(place.Has("runs/" + run + "/checkpoints/latest/weights.safetensors"));
  EXPECT_TRUE(place.Has("runs/" + run + "/plots/learning.svg"));
}

INSTANTIATE_TEST_SUITE_P(Both, ServeEnds, ::testing::Values(SIGTERM, SIGINT));

TEST(Serve, ALongBatchDoesNotHoldUpTheEnd) {
  const std::string run = UniqueRun();
  Workplace place;
  Process serve(place.path(), {"serve", "--set", kIpc, "--set", "run.name=" + run, "--set",
                               "model.layers=[512,512]", "--set", "algorithm.batch_steps=8192",
                               "--set", "algorithm.epochs=1000"});
  Process actor(place.path(), {"actor", "cartpole", "--connect", AddressOf(place, run)});
  ASSERT_TRUE(Eventually(20, [&] {
    const auto status = nlohmann::json::parse(
        RunMurmurate(place.path(), {"status", "--json"}).output, nullptr, false);
    return status.is_object() && !status["actors"].empty() &&
           status["actors"][0]["trajectories"] > 64;
  }));
  serve.Send(SIGTERM);
  EXPECT_EQ(serve.Wait(5), 0) << serve.Errors();
  EXPECT_THAT(serve.Errors(), HasSubstr("its last batch takes too long"));
  EXPECT_EQ(actor.Wait(2), 0) << actor.Errors();
  EXPECT_EQ(SegmentsOf(run), 0);
  EXPECT_EQ(place.LeftBehind(), "");
  EXPECT_TRUE(place.Has("runs/" + run + "/checkpoints/latest/weights.safetensors"));
}

TEST(Serve, StatusAnswersAndStopStops) {
  Workplace place;
  Process serve(place.path(), {"serve", "--set", kIpc});
  Process actor(place.path(),
                {"actor", "cartpole", "--connect", AddressOf(place, "serve"), "--name", "a-1"});
  nlohmann::json status;
  ASSERT_TRUE(Eventually(20, [&] {
    status = nlohmann::json::parse(RunMurmurate(place.path(), {"status", "--json"}).output, nullptr,
                                   false);
    return status.is_object() && !status["models"].empty() && status["models"][0]["steps"] > 0;
  }));
  EXPECT_EQ(status["run"], "serve");
  EXPECT_EQ(status["pid"], serve.pid());
  EXPECT_EQ(status["actors"][0]["name"], "a-1");
  const Ran text = RunMurmurate(place.path(), {"status", "serve"});
  EXPECT_EQ(text.code, 0) << text.errors;
  EXPECT_THAT(text.output, HasSubstr("actor a-1: live, 1 agents"));
  const Ran stop = RunMurmurate(place.path(), {"stop"});
  EXPECT_EQ(stop.code, 0) << stop.errors;
  EXPECT_EQ(serve.Wait(5), 0);
  EXPECT_EQ(actor.Wait(2), 0) << actor.Errors();
  EXPECT_EQ(place.LeftBehind(), "");
  const Ran none = RunMurmurate(place.path(), {"status"});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.errors, HasSubstr("no learner is running"));
}

TEST(Serve, AnActorWithOtherSpacesIsRefusedAndTheOthersGoOn) {
  Workplace place;
  Process serve(place.path(), {"serve", "--set", kIpc, "--set", "run.log_interval_s=1"});
  const std::string address = AddressOf(place, "serve");
  Process good(place.path(), {"actor", "cartpole", "--connect", address});
  ASSERT_TRUE(serve.Says("model default"));
  const Ran bad =
      RunMurmurate(place.path(), {"actor", "random", "--observation", "8", "--connect", address});
  EXPECT_EQ(bad.code, 2);
  EXPECT_THAT(bad.errors, HasSubstr("expected float32 4, got float32 8"));
  EXPECT_TRUE(good.running());
  EXPECT_TRUE(serve.Says("  return ")) << serve.Output();
}

/// murmurate with address space for some 20 threads, whose stacks take a GiB each.
const std::vector<std::string> kFewThreads{
    "sh", "-c", "ulimit -s 1048576 && ulimit -v 25165824 && exec \"$0\" \"$@\""};

TEST(Serve, ThreadsThatTheMachineDoesNotHaveAreRefusedByName) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer takes all address space";
  Workplace place;
  Process serve(place.path(), {"serve", "--set", kIpc, "--set", "model.threads=64"}, kFewThreads);
  const Ran actor =
      RunMurmurate(place.path(), {"actor", "cartpole", "--connect", AddressOf(place, "serve")});
  EXPECT_EQ(actor.code, 2) << serve.Errors();
  EXPECT_THAT(actor.errors, HasSubstr("lower model.threads"));
  EXPECT_TRUE(serve.running());
  serve.Send(SIGTERM);
  EXPECT_EQ(serve.Wait(5), 0) << serve.Errors();
}

TEST(Serve, TwoModelsLearnAtOnce) {
  Workplace place;
  Process serve(place.path(), {"serve", "--set", kIpc});
  const std::string address = AddressOf(place, "serve");
  Process hero(place.path(), {"actor", "cartpole", "--model", "hero", "--connect", address});
  Process npc(place.path(), {"actor", "random", "--model", "npc", "--connect", address});
  EXPECT_TRUE(Eventually(20, [&] {
    const auto status = nlohmann::json::parse(
        RunMurmurate(place.path(), {"status", "--json"}).output, nullptr, false);
    if (!status.is_object() || status["models"].size() != 2) return false;
    return status["models"][0]["updates"] > 0 && status["models"][1]["updates"] > 0;
  })) << serve.Output();
  serve.Send(SIGTERM);
  EXPECT_EQ(serve.Wait(5), 0);
  const bool hero_first = !place.Has("runs/serve/models/hero");
  const std::string second = hero_first ? "npc" : "hero";
  EXPECT_TRUE(place.Has("runs/serve/models/" + second + "/progress.csv"));
  EXPECT_TRUE(place.Has("runs/serve/models/" + second + "/checkpoints/latest/weights.safetensors"));
}

/// Of the last 500 rounds that a game told of, in how many the flag was reached.
int LastWins(const std::string& output) {
  const std::string words = "the flag was reached ";
  const std::size_t at = output.rfind(words);
  return at == std::string::npos ? -1 : std::atoi(output.c_str() + at + words.size());
}

TEST(Serve, TheGameOfTheReadmeIsLearned) {
  Workplace place;
  Process serve(place.path(), {"serve", "--set", kAnyPort});
  Process game(place.path(), {AddressOf(place, "serve")}, kGame);
  EXPECT_EQ(game.Wait(60), 0) << game.Errors();
  EXPECT_THAT(game.Output(), HasSubstr("round 20000"));
  EXPECT_GE(LastWins(game.Output()), 375) << game.Output();
  serve.Send(SIGTERM);
  EXPECT_EQ(serve.Wait(5), 0);
}

TEST(Serve, TheGameInCIsLearnedFromToo) {
  Workplace place;
  Process serve(place.path(), {"serve", "--set", kAnyPort});
  Process game(place.path(), {AddressOf(place, "serve")}, kGameInC);
  EXPECT_EQ(game.Wait(60), 0) << game.Errors();
  // Nothing is wrong; where it plays faster than the learner learns it is told so, once.
  const std::string tip =
      "^murmurate: model default: [0-9]+ % of the steps are never sent[^\n]*\n$";
  EXPECT_THAT(game.Errors(), AnyOf("", ContainsRegex(tip)));
  EXPECT_THAT(game.Output(), HasSubstr("round 20000"));
  EXPECT_GE(LastWins(game.Output()), 375) << game.Output();
  serve.Send(SIGTERM);
  EXPECT_EQ(serve.Wait(5), 0);
  const std::string rows = place.Read("runs/serve/progress.csv");
  EXPECT_GT(std::count(rows.begin(), rows.end(), '\n'), 1);
}

TEST(Serve, ASettingAndARateAreSetWhileItRuns) {
  Workplace place;
  Process serve(place.path(), {"serve", "--set", kIpc, "--set", "settings.distractors=3"});
  const std::string address = AddressOf(place, "serve");
  Process actor(place.path(), {"actor", "recall", "--connect", address});
  ASSERT_TRUE(serve.Says("model default"));
  const Ran set =
      RunMurmurate(place.path(), {"set", "serve", "distractors=1", "optimizer.learning_rate=1e-4"});
  EXPECT_EQ(set.code, 0) << set.errors;
  EXPECT_EQ(set.output, "distractors: 3 -> 1\noptimizer.learning_rate: 0.0003 -> 0.0001\n");
  EXPECT_THAT(RunMurmurate(place.path(), {"status"}).output, HasSubstr("setting distractors 1\n"));
  const Ran wrong = RunMurmurate(place.path(), {"set", "serve", "distractor=2"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.errors, HasSubstr("did you mean \"distractors\"?"));
  serve.Send(SIGTERM);
  EXPECT_EQ(serve.Wait(10), 0);
  EXPECT_THAT(place.Read("runs/serve/log.txt"), HasSubstr("set by hand: distractors: 3 -> 1"));
}

TEST(Serve, AGameOutlivesItsLearner) {
  Workplace place;
  Process serve(place.path(), {"serve", "--set", kAnyPort});
  Process game(place.path(), {AddressOf(place, "serve")},
               {"env", "GAME_ROUNDS=1000000", kGame.front()});
  ASSERT_TRUE(serve.Says("model default")) << serve.Errors();
  serve.Send(SIGKILL);
  serve.Wait(5);
  const auto rounds = [&] {
    const std::string text = game.Output();
    return std::count(text.begin(), text.end(), '\n');
  };
  const auto then = rounds();
  EXPECT_TRUE(Eventually(10, [&] { return rounds() > then + 5; }));
  EXPECT_TRUE(game.running());
}

/// murmurate with a /dev/shm of 16 KiB of its own; empty where that is not allowed.
std::vector<std::string> SmallShm() {
  const std::string script = "mount -t tmpfs -o size=16k tmpfs /dev/shm && exec \"$0\" \"$@\"";
  const std::vector<std::string> prefix{"unshare", "-m", "sh", "-c", script};
  Workplace place;
  Process trial(place.path(), {"--version"}, prefix);
  return trial.Wait(10) == 0 ? prefix : std::vector<std::string>{};
}

TEST(SharedMemory, TooSmallWhereItMustBeUsedRefusesTheGameAndTheLearnerLivesOn) {
  const auto prefix = SmallShm();
  if (prefix.empty()) GTEST_SKIP() << "no permission for a mount namespace";
  Workplace place;
  Process serve(place.path(), {"serve", "--set", kIpc, "--set", "server.shm=on"}, prefix);
  Process actor(place.path(), {"actor", "cartpole", "--connect", AddressOf(place, "serve")});
  ASSERT_TRUE(serve.Says(" was refused: cannot reserve shared memory ")) << serve.Errors();
  EXPECT_THAT(serve.Errors(), HasSubstr("16384 are free in /dev/shm"));
  EXPECT_THAT(serve.Errors(), HasSubstr("or set server.shm=off"));
  EXPECT_EQ(actor.Wait(20), 2) << actor.Errors();
  EXPECT_THAT(actor.Errors(), HasSubstr("16384 are free in /dev/shm"));
  serve.Send(SIGTERM);
  EXPECT_EQ(serve.Wait(10), 0) << serve.Errors();
  EXPECT_EQ(place.LeftBehind(), "");
}

TEST(SharedMemory, TooSmallFallsBackToTheNetworkAndSaysSo) {
  const auto prefix = SmallShm();
  if (prefix.empty()) GTEST_SKIP() << "no permission for a mount namespace";
  Workplace place;
  Process serve(place.path(), {"serve", "--set", kIpc, "--set", "run.log_interval_s=1"}, prefix);
  Process actor(place.path(), {"actor", "cartpole", "--connect", AddressOf(place, "serve")});
  EXPECT_TRUE(serve.Says("  return ")) << serve.Output() << serve.Errors();
  EXPECT_THAT(serve.Errors(), HasSubstr("/dev/shm"));
}

TEST(Actor, WithoutALearnerItSaysSoAndWaits) {
  Workplace place;
  Process actor(place.path(),
                {"actor", "cartpole", "--connect", "ipc://" + place.path() + "/nobody"});
  EXPECT_TRUE(actor.Says("murmurate serve", 10));
  EXPECT_THAT(actor.Errors(), HasSubstr("ipc://" + place.path() + "/nobody"));
  EXPECT_TRUE(actor.running());
  actor.Send(SIGTERM);
  EXPECT_EQ(actor.Wait(2), 0);
}

}  // namespace
}  // namespace murmurate
