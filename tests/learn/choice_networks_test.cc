// The networks of a value for each choice: how their heads make it, that players find the same best
// choice without them, and the loss of quantiles on paper.
#include "server/learn/choice_networks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "server/learn/quantile_loss.h"
#include "server/network/actor_critic.h"
#include "shared/core/random.h"
#include "shared/inference/policy.h"
#include "tests/learn/replay_loss.h"

namespace murmurate {
namespace {

ModelSpec SpecOf(const Space& action, bool dueling, int quantiles) {
  AlgorithmSettings settings = SmallReplay("dqn");
  settings.policy.dueling = dueling;
  settings.policy.quantiles = quantiles;
  return *SmallNetworks(settings, action);
}

TEST(ChoiceNetworksTest, AValueAndAdvantagesWithoutTheirMean) {
  const ModelSpec spec = SpecOf(MultiDiscrete({3, 2}), true, 2);
  const ParameterLayout layout(spec);
  AlignedFloats parameters(layout.total);
  const auto set = [&](const char* bias, const std::vector<float>& values) {
    std::ranges::copy(values, parameters.begin() + layout.Find(bias).offset);
  };
  set("policy.head.bias", {1, 2, 6, 4, 8});
  set("value.head.bias", {10});
  set("quantiles.head.bias", {0, 2, 0, 0, 5, 7, 1, -1, 0, 0});
  ChoiceNetworks networks(spec, layout, false, 2);
  EXPECT_EQ(networks.quantiles(), 2u);
  const float observation[] = {0.1f, 0.2f, 0.3f};
  networks.Forward(parameters, observation, 1);
  const std::vector<float> expected{8 - 1, 8 + 1, 9, 9, 13 - 1, 13 + 1, 8 + 1, 8 - 1, 12, 12};
  EXPECT_EQ(std::vector<float>(networks.values(), networks.values() + 10), expected);
}

/// What a game has: the published parameters alone.
TEST(ChoiceNetworksTest, PlayersFindTheBestChoiceByThePolicyAlone) {
  for (const bool dueling : {false, true}) {
    for (const int quantiles : {1, 7}) {
      const ModelSpec spec = SpecOf(MultiDiscrete({3, 4}), dueling, quantiles);
      const ParameterLayout layout(spec);
      AlignedFloats parameters(layout.total);
      InitializeParameters(spec, 4, parameters, {Initializer::kXavier});
      constexpr int kRows = 40;
      Random random(6);
      std::vector<float> observations(3 * kRows);
      for (float& number : observations) number = 4.0f * random.Uniform() - 2.0f;
      ChoiceNetworks networks(spec, layout, false, kRows);
      networks.Forward(parameters, observations.data(), kRows);

      Policy policy(spec);
      policy.Pack(std::span<const float>(parameters).first(layout.published.count), {});
      std::vector<float> outputs(7 * kRows);
      AlignedFloats scratch(policy.ScratchFloats(kRows));
      policy.Forward(observations.data(), kRows, outputs.data(), scratch.data());
      std::vector<int> played, valued;
      for (int row = 0; row < kRows; ++row) {
        std::vector<float> means;
        for (int c = 0; c < 7; ++c) {
          const float* const of = networks.values() + (row * 7 + c) * quantiles;
          means.push_back(std::accumulate(of, of + quantiles, 0.0f));
        }
        for (const auto& [first, end] : {std::pair{0, 3}, {3, 7}}) {
          const auto best = [first, end](const float* of) {
            return static_cast<int>(std::max_element(of + first, of + end) - of);
          };
          played.push_back(best(&outputs[static_cast<std::size_t>(row) * 7]));
          valued.push_back(best(means.data()));
        }
      }
      EXPECT_EQ(played, valued) << dueling << ' ' << quantiles;
      EXPECT_FALSE(std::ranges::all_of(played, [&](int best) { return best == played[0]; }));
    }
  }
}

TEST(QuantileLossTest, OfOneValueIsHubers) {
  QuantileLoss loss(1);
  float gradient = 0.0f;
  const float small = 0.5f, large = 3.0f, target = 0.0f;
  EXPECT_DOUBLE_EQ(loss.Find({&small, 1}, {&target, 1}, 2.0f, &gradient), 0.125);
  EXPECT_EQ(gradient, 1.0f);
  EXPECT_DOUBLE_EQ(loss.Find({&large, 1}, {&target, 1}, 2.0f, &gradient), 2.5);
  EXPECT_EQ(gradient, 2.0f);
}

TEST(QuantileLossTest, WeighsErrorsBelowAndAboveByTheQuantile) {
  QuantileLoss loss(2);  // tau 0.25 and 0.75
  const std::vector<float> values{0, 1}, above{2}, below{-3};
  std::vector<float> gradient(2);
  // errors 2 and 1, Huber's 1.5 and 0.5, weights 0.5 and 1.5
  EXPECT_DOUBLE_EQ(loss.Find(values, above, 1.0f, gradient.data()), 0.75);
  EXPECT_EQ(gradient, (std::vector{-0.25f, -0.75f}));
  // errors -3 and -4, Huber's 2.5 and 3.5, weights 1.5 and 0.5
  EXPECT_DOUBLE_EQ(loss.Find(values, below, 1.0f, gradient.data()), 2.75);
  EXPECT_EQ(gradient, (std::vector{0.75f, 0.25f}));
}

TEST(QuantileLossTest, IsLeastAtTheQuantiles) {
  QuantileLoss loss(4);  // tau 0.125, 0.375, 0.625, 0.875
  std::vector<float> targets, values(4, 50.0f), gradient(4);
  for (int i = 0; i < 10; ++i) targets.push_back(10.0f * static_cast<float>(i));
  for (int i = 0; i < 4000; ++i) {
    loss.Find(values, targets, 1.0f, gradient.data());
    for (std::size_t q = 0; q < 4; ++q) values[q] -= gradient[q];
  }
  const std::vector<float> expected{10, 30, 60, 80};
  for (std::size_t q = 0; q < 4; ++q) EXPECT_NEAR(values[q], expected[q], 1.0f);
}

}  // namespace
}  // namespace murmurate
