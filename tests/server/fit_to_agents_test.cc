// Trajectory length and batch follow the agents that attach to a bare learner: real processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/sanitized.h"
#include "tests/server/process.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// A learner with the usual batches, whose network is small and whose passes are few.
struct Scene {
  explicit Scene(std::vector<std::string> more = {})
      : address("ipc://" + place.path() + "/main"), serve(place.path(), Words(std::move(more))) {}

  std::vector<std::string> Words(std::vector<std::string> more) const {
    std::vector<std::string> words{"serve"};
    for (const std::string& set :
         {std::string("run.name=s"), "server.listen=[\"" + address + "\"]",
          std::string("run.log_interval_s=0.2"), std::string("algorithm.epochs=1"),
          std::string("model.layers=[16]")})
      words.insert(words.end(), {"--set", set});
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  std::vector<std::string> Actor(int agents, std::vector<std::string> more = {}) const {
    std::vector<std::string> words{"actor", "cartpole", "--connect",
                                   address, "--agents", std::to_string(agents)};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  nlohmann::json Model() const {
    const auto status = nlohmann::json::parse(
        RunMurmurate(place.path(), {"status", "--json"}).output, nullptr, false);
    return status.is_object() && !status["models"].empty() ? status["models"][0]
                                                           : nlohmann::json::object();
  }
  bool Learned(std::uint64_t steps, double seconds = 60) const {
    return Eventually(seconds,
                      [&] { return Model().value("learned_steps", std::uint64_t{0}) >= steps; });
  }
  std::string Log() const { return place.Read("runs/s/log.txt"); }

  Workplace place;
  const std::string address;
  Process serve;
};

TEST(FitToAgents, WhoComesLaterMakesTrajectoriesShorterAndNothingIsLate) {
  Scene scene;
  Process few(scene.place.path(), scene.Actor(4));
  ASSERT_TRUE(scene.Learned(5'000)) << scene.serve.Errors();
  EXPECT_THAT(scene.Log(), Not(HasSubstr("agents play"))) << "the usual batch suits four agents";
  Process many(scene.place.path(), scene.Actor(124));
  ASSERT_TRUE(Eventually(40, [&] {
    return scene.Log().find(
               "model default: 128 agents play, so trajectories have 16 steps and "
               "batches 2048") != std::string::npos;
  })) << scene.Log();
  const auto before = scene.Model();
  ASSERT_TRUE(scene.Learned(before["learned_steps"].get<std::uint64_t>() + 60'000))
      << scene.serve.Errors();
  const auto after = scene.Model();
  EXPECT_LE(after["staleness"].get<double>(), kSanitized ? 10 : 3) << after;
  // What was under way when T changed goes in pieces.
  EXPECT_LE(after["late_steps"].get<std::uint64_t>(), kSanitized ? 60'000u : 10'000u) << after;
  for (Process* actor : {&few, &many}) {
    actor->Send(SIGTERM);
    EXPECT_EQ(actor->Wait(10), 0) << actor->Errors();
  }
  scene.serve.Send(SIGTERM);
  EXPECT_EQ(scene.serve.Wait(10), 0) << scene.serve.Errors();
}

TEST(FitToAgents, AProcessThatStoodStillLosesOnlyWhatItHadBegun) {
  constexpr int kAgents = 8;
  Scene scene;
  Process stops(scene.place.path(), scene.Actor(kAgents));
  Process plays(scene.place.path(), scene.Actor(kAgents));
  ASSERT_TRUE(scene.Learned(20'000)) << scene.serve.Errors();
  stops.Send(SIGSTOP);
  const auto before = scene.Model();
  const auto number = [](const nlohmann::json& model, const char* key) {
    return model[key].get<std::uint64_t>();
  };
  // More than max_staleness: what it had begun is too late.
  ASSERT_TRUE(Eventually(40, [&] {
    return number(scene.Model(), "version") > number(before, "version") + 40;
  })) << scene.serve.Errors();
  stops.Send(SIGCONT);
  ASSERT_TRUE(scene.Learned(number(scene.Model(), "learned_steps") + 60'000));
  const auto after = scene.Model();
  const std::uint64_t late = number(after, "late_steps") - number(before, "late_steps");
  EXPECT_LE(late, 3u * kAgents * 128u) << after;
}

TEST(FitToAgents, NothingChangesInLockstep) {
  Scene scene;
  Process actor(scene.place.path(), scene.Actor(64, {"--pace", "lockstep"}));
  ASSERT_TRUE(scene.Learned(20'000)) << scene.serve.Errors();
  EXPECT_THAT(scene.Log(), Not(HasSubstr("agents play")));
}

TEST(FitToAgents, NothingChangesThatTheConfigSays) {
  for (const std::vector<std::string>& said :
       {std::vector<std::string>{"--set", "algorithm.fit_to_agents=false"},
        {"--set", "algorithm.trajectory_length=64", "--set", "algorithm.batch_steps=1024"}}) {
    Scene scene(said);
    Process actor(scene.place.path(), scene.Actor(64));
    ASSERT_TRUE(scene.Learned(20'000)) << scene.serve.Errors();
    EXPECT_THAT(scene.Log(), Not(HasSubstr("agents play")));
  }
}

}  // namespace
}  // namespace murmurate
