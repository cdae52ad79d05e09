// A privileged observation from a game in this process to a learner in another: real sockets, the
// files of the run, and the policy that is played without it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "murmurate/client.h"
#include "shared/core/random.h"
#include "tests/server/process.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Plays `episodes` of eight steps, each of which pays the coin of its episode, 1 or -1, whatever is
/// done; shows the coin as the privileged observation.
void Play(Agent& agent, int episodes, bool shows) {
  Random random(5);
  Action action;
  for (int episode = 0; episode < episodes; ++episode) {
    const float coin = random.UniformInt(2) == 0 ? -1.0f : 1.0f;
    for (int step = 0; step < 8; ++step) {
      const float seen[] = {1, static_cast<float>(step)};
      if (shows) agent.Privileged(std::span(&coin, 1));
      agent.Act(std::span<const float>(seen), &action);
      agent.Reward(coin);
    }
    agent.End(kTerminated);
  }
}

double LastOf(const std::string& progress, const std::string& column) {
  std::istringstream rows(progress);
  std::string header, row, name, field;
  std::getline(rows, header);
  double last = 0;
  while (std::getline(rows, row)) {
    std::istringstream names(header), fields(row);
    while (std::getline(names, name, ',') && std::getline(fields, field, ','))
      if (name == column && !field.empty()) last = std::stod(field);
  }
  return last;
}

TEST(PrivilegedRun, TheValueLearnsFromItAndThePolicyFileHasNothingOfIt) {
  const Workplace place;
  const std::string address = "ipc://" + place.path() + "/main";
  Process serve(place.path(),
                {"serve", "--set", "run.name=p", "--set", "server.listen=[\"" + address + "\"]",
                 "--set", "run.log_interval_s=0.2", "--set", "algorithm.batch_steps=256", "--set",
                 "algorithm.trajectory_length=64", "--set", "algorithm.minibatch=64", "--set",
                 "optimizer.learning_rate=1e-3", "--set", "run.stop_at_steps=24000"});
  ASSERT_TRUE(serve.Says(" serves ")) << serve.Errors();
  const AgentOptions coin_game{
      .observation = Box({2}), .action = Discrete(2), .privileged = Box({1})};
  {
    auto client = Client::Connect(address, {.pace = Pace::kCredit});
    ASSERT_TRUE(client.ok()) << client.status();
    Agent agent = (*client)->NewAgent(coin_game);
    ASSERT_TRUE(agent.valid()) << (*client)->last_error();
    while (!(*client)->should_stop()) Play(agent, 50, true);
    EXPECT_TRUE((*client)->Save(place.path() + "/saved.policy").ok());
    // An agent that shows the learner nothing has other spaces.
    Agent other = (*client)->NewAgent({.observation = Box({2}), .action = Discrete(2)});
    EXPECT_FALSE(other.valid());
    EXPECT_THAT((*client)->last_error().message(), HasSubstr("privileged: expected float32 1"));
  }
  EXPECT_EQ(serve.Wait(20), 0) << serve.Errors();
  EXPECT_GT(LastOf(place.Read("runs/p/progress.csv"), "train/explained_variance"), 0.8);
  const Ran inspect = RunMurmurate(place.path(), {"inspect", "p"});
  EXPECT_THAT(inspect.output, HasSubstr("privileged")) << inspect.errors;
  const Ran exported = RunMurmurate(place.path(), {"export", "p", "-o", "npc.policy"});
  EXPECT_EQ(exported.code, 0) << exported.errors;
  for (const char* file : {"npc.policy", "saved.policy"}) {
    EXPECT_THAT(place.Read(file), Not(HasSubstr("privileged"))) << file;
    for (const bool shows : {false, true}) {
      auto player = Client::Open({.policy = PolicySource::FromFile(place.path() + "/" + file)});
      ASSERT_TRUE(player.ok()) << player.status();
      AgentOptions options = coin_game;
      if (!shows) options.privileged = {};
      Agent agent = (*player)->NewAgent(options);
      ASSERT_TRUE(agent.valid()) << (*player)->last_error();
      Play(agent, 2, shows);
    }
  }
  // A checkpoint may be played, too: its value network, which alone reads the coin, is left out.
  auto player =
      Client::Open({.policy = PolicySource::FromFile(
                        place.path() + "/runs/p/checkpoints/latest/weights.safetensors")});
  ASSERT_TRUE(player.ok()) << player.status();
  Agent agent = (*player)->NewAgent({.observation = Box({2}), .action = Discrete(2)});
  ASSERT_TRUE(agent.valid()) << (*player)->last_error();
  Play(agent, 1, false);
}

/// A game with a privileged observation, of a daemon with this setting.
void ExpectRefused(const std::string& setting, const std::string& reason) {
  const Workplace place;
  const std::string address = "ipc://" + place.path() + "/main";
  Process serve(place.path(),
                {"serve", "--set", "server.listen=[\"" + address + "\"]", "--set", setting});
  ASSERT_TRUE(serve.Says(" serves "));
  auto client = Client::Connect(address, {.quiet = true});
  ASSERT_TRUE(client.ok()) << client.status();
  Agent agent =
      (*client)->NewAgent({.observation = Box({2}), .action = Discrete(2), .privileged = Box({1})});
  ASSERT_TRUE(agent.valid());
  EXPECT_TRUE(Eventually(10, [&] { return (*client)->State().state == ClientState::kRefused; }));
  EXPECT_THAT((*client)->State().reason, HasSubstr(reason));
  serve.Send(SIGTERM);
  (void)serve.Wait(10);
}

TEST(PrivilegedRun, AValueThatSharesThePolicysLayersIsRefused) {
  ExpectRefused("model.separate_value=false",
                "model.separate_value: expected true: the agents of model default have a "
                "privileged observation");
}

/// Whose critics read it and whose policies do not: an algorithm, and the action of the game.
struct Critics {
  const char* algorithm;
  Space action;
};

class CriticsRun : public ::testing::TestWithParam<Critics> {
 protected:
  std::vector<std::string> Serve() const {
    return {"serve",
            "--set",
            "run.name=p",
            "--set",
            "server.listen=[\"" + address_ + "\"]",
            "--set",
            "run.log_interval_s=0.2",
            "--set",
            "model.layers=[32]",
            "--set",
            std::string("algorithm.name=\"") + GetParam().algorithm + "\"",
            "--set",
            "optimizer.learning_rate=1e-3",
            "--set",
            "replay.samples_per_insert=64",
            "--set",
            "algorithm.gamma=0.5",
            "--set",
            "run.stop_at_steps=6000"};
  }

  const Workplace place_;
  const std::string address_ = "ipc://" + place_.path() + "/main";
};

/// Values that do not know the coin are wrong by 1 and more.
TEST_P(CriticsRun, LearnFromItWhatThePolicyCannotSee) {
  Process serve(place_.path(), Serve());
  ASSERT_TRUE(serve.Says(" serves ")) << serve.Errors();
  auto client = Client::Connect(address_, {.pace = Pace::kCredit});
  ASSERT_TRUE(client.ok()) << client.status();
  Agent agent = (*client)->NewAgent(
      {.observation = Box({2}), .action = GetParam().action, .privileged = Box({1})});
  ASSERT_TRUE(agent.valid()) << (*client)->last_error();
  while (!(*client)->should_stop()) Play(agent, 20, true);
  EXPECT_EQ(serve.Wait(20), 0) << serve.Errors();
  const double error = LastOf(place_.Read("runs/p/progress.csv"), "train/td_error");
  EXPECT_GT(error, 0.0);
  EXPECT_LT(error, 0.3);
  const Ran exported = RunMurmurate(place_.path(), {"export", "p", "-o", "npc.policy"});
  EXPECT_EQ(exported.code, 0) << exported.errors;
  EXPECT_THAT(place_.Read("npc.policy"), Not(HasSubstr("privileged")));
}

INSTANTIATE_TEST_SUITE_P(Algorithms, CriticsRun,
                         testing::Values(Critics{"sac", Box({1}, -1, 1)},
                                         Critics{"td3", Box({1}, -1, 1)}),
                         [](const auto& test) { return std::string(test.param.algorithm); });

TEST(PrivilegedRun, DqnWhoseValuesAreThePolicyRefusesIt) {
  ExpectRefused("algorithm.name=\"dqn\"",
                "dqn plays by the values that it learns, so they cannot read a privileged "
                "observation");
}

}  // namespace
}  // namespace murmurate
