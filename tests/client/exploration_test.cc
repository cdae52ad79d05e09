// How agents explore: noise of a deterministic policy, pink noise from episode to episode, a ladder
// of epsilons; and that evaluation and deterministic play know none of it.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>
#include <set>

#include "tests/client/game.h"
#include "tests/client/mixed_game.h"
#include "tests/client/workbench.h"

namespace murmurate {
namespace {

using Mode = ActSettings::Mode;
using Noise = ActSettings::Noise;

/// Two numbers of 0 to 100 and -1 to 1; the head is deterministic or a squashed Gaussian.
ModelSpec Steering(bool deterministic) {
  PolicyAndValue spec;
  spec.spaces = {Box({3}), Box({2}, {0, -1}, {100, 1})};
  spec.trunk = {{8, Activation::kTanh}};
  spec.continuous = {.squashed = true, .deterministic = deterministic};
  return spec;
}

struct Driver : Workbench {
  explicit Driver(bool deterministic, int trajectory_length = 8, ClientOptions options = {})
      : Workbench(trajectory_length, options, Steering(deterministic)), policy(spec) {
    PackVersion(spec, 1, &policy);
    outputs.resize(static_cast<std::size_t>(policy.outputs()));
    agent->action().Reseed(5);
  }
  void Drive(int step) {
    seen = Observation(step);
    agent->observation().Observe(std::span<const float>(seen));
    agent->Step();
    AlignedFloats scratch(policy.ScratchFloats(1));
    policy.Forward(seen.data(), 1, outputs.data(), scratch.data());
  }
  float word(int i) { return std::bit_cast<float>(agent->action().words()[i]); }

  Policy policy;
  std::vector<float> seen, outputs;  ///< of the last step
};

constexpr ActSettings kPinkGaussian{.mode = Mode::kGaussian, .sigma = 0.3f, .noise = Noise::kPink};

TEST(Exploration, NoiseOfADeterministicPolicyIsPinkAndBeginsAnewWithEachEpisode) {
  Driver bench(true, 6);
  bench.Publish(1, kPinkGaussian);
  Random random(5);
  PinkNoise twin(2);
  std::vector<float> played;
  for (int step = 0; step < 8; ++step) {
    bench.Drive(step);
    for (int i = 0; i < 2; ++i) {
      const float expected =
          std::clamp(std::tanh(bench.outputs[i]) + 0.3f * twin.Next(i, 1, random)[0], -1.0f, 1.0f);
      EXPECT_NEAR(bench.word(i), expected, 1e-5) << step;
      played.push_back(bench.word(i));
    }
    float game[2];
    bench.agent->action().ReadAction(game);
    EXPECT_NEAR(game[0], 50 + 50 * bench.word(0), 1e-4);
    EXPECT_NEAR(game[1], bench.word(1), 1e-6);
    if (step == 2) bench.agent->End(kTerminated), twin.Restart();
    if (step == 4) bench.agent->Discard(), twin.Restart();
  }
  bench.Drive(8);
  const auto received = bench.PopTrajectory();
  ASSERT_NE(received.block, nullptr);
  // Steps 3 and 4 were discarded.
  std::vector<float> recorded, kept(played.begin(), played.begin() + 6);
  kept.insert(kept.end(), played.begin() + 10, played.end());
  for (const std::int32_t word : received.view.action)
    recorded.push_back(std::bit_cast<float>(word));
  EXPECT_EQ(recorded, kept) << "what was played is what is learned from";
}

TEST(Exploration, ASquashedGaussianDrawsPinkNoiseToo) {
  Driver bench(false);
  bench.Publish(1, {.noise = Noise::kPink});
  Random random(5);
  PinkNoise twin(2);
  const float* log_deviations = bench.policy.log_deviations();
  for (int step = 0; step < 8; ++step) {
    bench.Drive(step);
    for (int i = 0; i < 2; ++i) {
      const float expected =
          bench.outputs[i] + std::exp(log_deviations[i]) * twin.Next(i, 1, random)[0];
      EXPECT_NEAR(bench.word(i), expected, 1e-5) << step;
    }
  }
}

TEST(Exploration, EvaluationAndDeterministicPlayKnowNoNoise) {
  for (const bool deterministic_policy : {false, true}) {
    for (const bool evaluated : {false, true}) {
      Driver bench(deterministic_policy, evaluated ? 8 : 0, {.deterministic = !evaluated});
      if (!evaluated) bench.agent->shared().Fit(BuffersOf(bench.policies, 1, 0));
      bench.agent->episode().SetMode(evaluated ? PlayMode::kEvaluate : PlayMode::kTrain);
      bench.Publish(1, deterministic_policy
                           ? kPinkGaussian
                           : ActSettings{.temperature = 3.0f, .noise = Noise::kPink});
      for (int step = 0; step < 20; ++step) {
        bench.Drive(step);
        for (int i = 0; i < 2; ++i) {
          const float output = bench.outputs[i];
          EXPECT_NEAR(bench.word(i), deterministic_policy ? std::tanh(output) : output, 1e-5);
        }
        if (step % 7 == 6) bench.agent->End(kTerminated);
      }
    }
  }
}

TEST(Exploration, TookIsRecordedInUnitsOfTheBox) {
  Driver bench(true, 2);
  bench.Publish(1, kPinkGaussian);
  bench.Drive(0);
  const float done[] = {25.0f, 1.0f};
  ASSERT_TRUE(bench.agent->TryTook(nullptr, done).ok());
  bench.Drive(1), bench.Drive(2);
  const auto received = bench.PopTrajectory();
  ASSERT_NE(received.block, nullptr);
  EXPECT_EQ(std::bit_cast<float>(received.view.action[0]), -0.5f);
  EXPECT_EQ(std::bit_cast<float>(received.view.action[1]), 1.0f);
  EXPECT_TRUE(std::isfinite(received.view.log_prob[0]));
}

constexpr ActSettings kLadder{
    .mode = Mode::kEpsilon, .epsilon = 0.4f, .ladder_count = 4, .ladder_alpha = 3.0f};

TEST(Exploration, AnAgentHasTheEpsilonOfItsIndex) {
  for (const std::uint32_t index : {0u, 1u, 3u, 6u}) {
    Workbench bench(1);
    bench.agent->shared().SetIndex(index);
    bench.Publish(3, kLadder);
    const double epsilon = std::pow(0.4, 1 + (index % 4));  // 3 i / 3
    const auto log_probs =
        LogProbabilities(bench.spec, SomeParameters(bench.spec, 3), bench.Observation(0));
    const int best =
        static_cast<int>(std::max_element(log_probs.begin(), log_probs.end()) - log_probs.begin());
    bench.Act(0);
    bench.agent->Took((best + 1) % 4);
    bench.Act(1);
    EXPECT_NEAR(bench.PopTrajectory().view.log_prob[0], std::log(epsilon / 4), 1e-5) << index;
    bench.agent->episode().SetMode(PlayMode::kEvaluate);
    bench.agent->End(kTerminated, {});
    bench.Act(0);
    EXPECT_EQ(bench.agent->action().choice(), best) << "evaluation is greedy";
  }
}

/// Agents of two clients, whose numbers begin at 0 in each, are on rungs of their own.
TEST(Exploration, TheLadderIsOverTheAgentsOfAllClients) {
  const std::string address = FreshAddress();
  TestLearner learner(address, {.trajectory_length = 8});
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<Game> games;
  for (int i = 0; i < 2; ++i) {
    clients.push_back(MustConnect(address));
    games.emplace_back(*clients.back());
    games.emplace_back(*clients.back());
  }
  const auto play = [&] {
    for (Game& game : games) game.Step();
    learner.PollOnce();
  };
  ASSERT_TRUE(Until(play, [&] { return learner.knows("default"); }));
  learner.Publish("default", 1, kLadder);
  std::map<std::uint32_t, std::set<int>> rungs;  // of each index
  const auto note = [&] {
    for (const auto& one : learner.received) {
      if (one->view.version != 1) continue;
      for (const float log_prob : one->view.log_prob)
        for (int i = 0; i < 4; ++i) {
          const double epsilon = std::pow(0.4, 1 + i);
          if (std::abs(log_prob - std::log(1 - epsilon + epsilon / 4)) < 1e-5)
            rungs[one->agent_index].insert(i);
        }
    }
    learner.received.clear();
    return rungs.size() == 4;
  };
  ASSERT_TRUE(Until(play, note));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(rungs[i], std::set<int>{i});
}

/// From the wire to the record, with the learner's check of each action.
TEST(Exploration, AClientPlaysTheNoiseOfADeterministicModel) {
  const std::string address = FreshAddress();
  TestLearner learner(address, {.trajectory_length = 8, .model = Steering(true)});
  const auto client = MustConnect(address);
  Agent agent = client->NewAgent({.observation = Box({3}), .action = Steering(true).spaces.action});
  const auto play = [&] {
    const float seen[] = {0.1f, 0.2f, 0.3f};
    float action[2];
    agent.ActContinuous(seen, action);
    EXPECT_TRUE(action[0] >= 0 && action[0] <= 100 && std::abs(action[1]) <= 1);
    learner.PollOnce();
  };
  ASSERT_TRUE(Until(play, [&] { return learner.knows("default"); }));
  learner.Publish("default", 1, kPinkGaussian);
  ASSERT_TRUE(Until(play, [&] {
    return !learner.received.empty() && learner.received.back()->view.version == 1;
  })) << client->State().reason;
  std::set<std::int32_t> words;
  for (const std::int32_t word : learner.received.back()->view.action) {
    EXPECT_LE(std::abs(std::bit_cast<float>(word)), 1.0f);
    words.insert(word);
  }
  EXPECT_GT(words.size(), 8u);
}

}  // namespace
}  // namespace murmurate
