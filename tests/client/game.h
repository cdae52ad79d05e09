// A game to play on a client, what it remembers of its life, and an address for its learner.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "murmurate/client.h"
#include "tests/client/test_learner.h"

namespace murmurate {

inline std::string FreshAddress() {
  static int count = 0;
  const auto folder = RuntimeFolder();
  EXPECT_TRUE(folder.ok()) << folder.status();
  return "ipc://" + *folder + "/client-test-" + std::to_string(++count);
}

inline std::unique_ptr<Client> MustConnect(const std::string& address, ClientOptions options = {}) {
  auto client = Client::Connect(address, std::move(options));
  EXPECT_TRUE(client.ok()) << client.status();
  return *std::move(client);
}

/// A game without an end, and what it remembers of it.
struct Game {
  explicit Game(Client& client, const std::string& model = "default", int observations = 3,
                int actions = 4)
      : agent(client.NewAgent(
            {.observation = Box({observations}), .action = Discrete(actions), .model = model})),
        width(observations) {
    EXPECT_TRUE(agent.valid()) << client.last_error();
  }
  struct Lived {
    std::vector<float> observation;
    int action;
    float reward;
    std::uint8_t flags;
    std::vector<float> final_observation;
  };
  std::vector<float> Look() const {
    std::vector<float> observation(static_cast<std::size_t>(width));
    for (int i = 0; i < width; ++i) {
      observation[i] = static_cast<float>(std::sin(0.3 * static_cast<double>(life.size()) + i));
    }
    return observation;
  }
  void Step() {
    const auto observation = Look();
    const int action = agent.Act(observation);
    const float reward = static_cast<float>(life.size() % 7) * 0.5f;
    agent.Reward(reward / 2);
    agent.Reward(reward / 2);
    const bool first = life.empty() || (life.back().flags & (kTerminatedFlag | kTruncatedFlag));
    life.push_back(
        {observation, action, reward, static_cast<std::uint8_t>(first ? kFirst : 0), {}});
    if (life.size() % 11 == 0) {
      life.back().flags |= kTerminatedFlag;
      agent.End(kTerminated);
    } else if (life.size() % 13 == 0) {
      life.back().flags |= kTruncatedFlag;
      life.back().final_observation = {1.0f * life.size(), 2.0f, 3.0f};
      life.back().final_observation.resize(static_cast<std::size_t>(width));
      agent.End(kTruncated, life.back().final_observation);
    }
  }
  Agent agent;
  int width;
  std::vector<Lived> life;
};

/// Every step of what was received is what the game lived, and its log-probability that of the
/// version.
inline void ExpectAsLived(const std::vector<std::unique_ptr<ReceivedTrajectory>>& received,
                          const Game& game, const ModelSpec& spec) {
  std::uint64_t expected_first = received.empty() ? 0 : received.front()->view.first_step;
  const std::size_t width = static_cast<std::size_t>(game.width);
  for (const auto& one : received) {
    const TrajectoryView& view = one->view;
    EXPECT_EQ(view.first_step, expected_first) << "a gap";
    expected_first += view.steps;
    std::size_t finals = 0;
    for (int t = 0; t < view.steps; ++t) {
      const std::uint64_t version = VersionAt(view, t);
      const Game::Lived& lived = game.life.at(view.first_step + t);
      EXPECT_TRUE(std::equal(lived.observation.begin(), lived.observation.end(),
                             NumbersOf(view.observation).data() + t * width));
      EXPECT_EQ(view.action[t], lived.action);
      EXPECT_EQ(view.reward[t], lived.reward);
      EXPECT_EQ(view.flags[t], lived.flags);
      if (!lived.final_observation.empty()) {
        EXPECT_TRUE(std::equal(lived.final_observation.begin(), lived.final_observation.end(),
                               NumbersOf(view.final_observation).data() + finals++ * width));
      }
      const double log_prob = version == 0 ? -std::log(spec.spaces.action.n)
                                           : LogProbabilities(spec, SomeParameters(spec, version),
                                                              lived.observation)[lived.action];
      EXPECT_NEAR(view.log_prob[t], log_prob, 2e-5);
    }
    const std::size_t next = view.first_step + view.steps;
    const bool ended = view.steps > 0 && view.flags[view.steps - 1] >= kTerminatedFlag;
    if (!ended && next < game.life.size()) {
      const std::span<const float> last = NumbersOf(view.next_observation);
      EXPECT_TRUE(std::equal(last.begin(), last.end(), game.life[next].observation.begin()));
    }
  }
}

}  // namespace murmurate
