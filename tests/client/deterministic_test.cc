// ClientOptions::deterministic: a game that ships with it does the same for what it sees, whoever
// plays beside an agent and whatever the mode.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "murmurate/client.h"
#include "shared/model/weights_file.h"
#include "tests/client/workbench.h"
#include "tests/source_file.h"

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

// tests/fixtures/pendulum.policy was trained and exported, and these bits of torque were played, by
// the last version that knew no scaled boxes. (The box is -2 to 2.)
TEST(Deterministic, APolicyWithoutTheLineOfScaledBoxesActsTheBitsThatItActedBefore) {
  const std::uint32_t played[] = {
      0xbd49dd52, 0xbd823c81, 0xbd95ca3d, 0xbda850c8, 0xbdbf855d, 0xbcfc8992,
      0xbd61ae02, 0xbd8cc1bb, 0xbdc15e37, 0xbded35ec, 0x3c21ada0, 0xbd38df0a,
      0xbde2679b, 0xbe2bc37c, 0xbe588528, 0xbd8ef3b5, 0xbdcd72c6, 0xbe0a35e0,
      0xbe3094c4, 0xbe5406cb, 0xbd993a7a, 0xbdd52b16, 0xbde9f148, 0xbe022fa6,
  };
  const auto client =
      Client::Open({.policy = PolicySource::FromFile(SourceFile("tests/fixtures/pendulum.policy")),
                    .deterministic = true});
  ASSERT_TRUE(client.ok()) << client.status();
  Agent agent = (*client)->NewAgent({.observation = Box({3}), .action = Box({1}, -2, 2)});
  Action action;
  for (int i = 0; i < 24; ++i) {
    const float seen[] = {static_cast<float>(i % 7 - 3) / 4, static_cast<float>(i % 5 - 2) / 2,
                          static_cast<float>(i - 12) / 2};
    agent.Act(Observation(std::span<const float>(seen)), &action);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(action.numbers()[0]), played[i]) << i;
  }
}

TEST(Deterministic, WhoLearnsIsToldToLeaveItOut) {
  const auto client = Client::Connect("ipc:///tmp/nobody", {.deterministic = true});
  EXPECT_EQ(client.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(client.status().message().find("Client::Open"), std::string::npos);
}

}  // namespace
}  // namespace murmurate
