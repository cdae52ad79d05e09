// ClientOptions::deterministic: a game that ships with it does the same for what it sees, whoever
// plays beside an agent and whatever the mode.
#include <gtest/gtest.h>

#include <cmath>

#include "murmurate/client.h"
#include "shared/model/weights_file.h"
#include "tests/client/workbench.h"

namespace murmurate {
namespace {

std::string PolicyOf(const ModelSpec& spec) {
  return FormatWeightsFile({.spec = spec, .parameters = SomeParameters(spec, 3)}, true);
}

std::vector<float> Seen(int agent, int step) {
  return {30 * std::sin(0.3f * step + agent), 3.0f * agent - 5, 0.5f * step - 25};
}

TEST(Deterministic, AnAgentDoesInAGroupWhatItDoesAlone) {
  constexpr int kAgents = 7;
  const auto client = Client::Open(
      {.policy = PolicySource::FromMemory(PolicyOf(SmallSpec())), .deterministic = true});
  ASSERT_TRUE(client.ok()) << client.status();
  const AgentOptions options{.observation = Box({3}), .action = Discrete(4)};
  AgentGroup group = (*client)->NewAgentGroup(options, kAgents);
  std::vector<Agent> alone;
  for (int i = 0; i < kAgents; ++i) {
    alone.push_back((*client)->NewAgent(options));
    alone.back().Mode(i % 2 == 0 ? PlayMode::kTrain : PlayMode::kSilent);
  }
  int changes = 0, last = -1;
  for (int step = 0; step < 100; ++step) {
    std::vector<float> all;
    for (int i = 0; i < kAgents; ++i)
      for (const float number : Seen(i, step)) all.push_back(number);
    std::vector<std::int32_t> actions(kAgents);
    group.Act(all, actions);
    for (int i = 0; i < kAgents; ++i) EXPECT_EQ(alone[i].Act(Seen(i, step)), actions[i]) << i;
    changes += std::exchange(last, actions[0]) != actions[0];
  }
  EXPECT_GT(changes, 1) << "what is seen matters";
}

TEST(Deterministic, WhoLearnsIsToldToLeaveItOut) {
  const auto client = Client::Connect("ipc:///tmp/nobody", {.deterministic = true});
  EXPECT_EQ(client.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(client.status().message().find("Client::Open"), std::string::npos);
}

}  // namespace
}  // namespace murmurate
