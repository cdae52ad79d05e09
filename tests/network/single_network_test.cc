// A network run by itself against the same network beside a value (actor_critic.h, whose own
// reference is in double).
#include "server/network/single_network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "server/network/actor_critic.h"
#include "server/network/target_networks.h"
#include "shared/core/random.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {
namespace {

std::vector<float> Numbers(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> numbers(count);
  for (float& number : numbers) number = 2.0f * random.Uniform() - 1.0f;
  return numbers;
}

ModelSpec WithTarget(ModelSpec spec) {
  spec.networks.push_back({.name = "target", .follows = "policy"});
  return spec;
}

struct Case {
  const char* name;
  PolicyAndValue model;
  int rows;
};

class SingleNetworkTest : public testing::TestWithParam<Case> {};

TEST_P(SingleNetworkTest, GivesTheOutputsAndGradientsOfANetworkBesideAValue) {
  const Case& test = GetParam();
  const ModelSpec spec = WithTarget(test.model.ToSpec());
  const ParameterLayout layout(spec);
  AlignedFloats parameters(layout.total);
  InitializeParameters(spec, 3, parameters, {Initializer::kXavier});
  const std::size_t row_bytes = ObservationLayout(StackedObservation(spec)).row_bytes();
  std::vector<std::uint32_t> observations(row_bytes / 4 * test.rows);
  const std::vector<float> numbers = Numbers(observations.size(), 5);
  const bool bytes = spec.spaces.observation.element == Space::Element::kUint8;
  Random random(6);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    observations[i] = bytes ? static_cast<std::uint32_t>(random.Next())
                            : std::bit_cast<std::uint32_t>(numbers[i]);

  ActorCritic both(spec, test.rows);
  SingleNetwork policy(spec, layout, "policy", test.rows),
      target(spec, layout, "target", test.rows);
  const std::size_t outputs = static_cast<std::size_t>(test.rows) * both.outputs();
  std::vector<float> expected(outputs), values(test.rows), found(outputs), followed(outputs);
  both.Forward(parameters, observations.data(), test.rows, expected.data(), values.data());
  policy.Forward(parameters, observations.data(), test.rows, found.data());
  target.Forward(parameters, observations.data(), test.rows, followed.data());
  EXPECT_EQ(found, expected);
  EXPECT_EQ(followed, expected) << "a target begins as what it follows";

  const std::vector<float> d_outputs = Numbers(outputs, 8), d_values(test.rows, 0.0f);
  std::vector<float> wanted(layout.trained_count()), gradient(layout.trained_count(), 0.0f);
  both.Backward(parameters, d_outputs.data(), d_values.data(), wanted);
  policy.Backward(parameters, d_outputs.data(), gradient);
  EXPECT_EQ(gradient, wanted);
  policy.Backward(parameters, d_outputs.data(), gradient);
  for (std::size_t i = 0; i < gradient.size(); ++i)
    ASSERT_NEAR(gradient[i], 2.0f * wanted[i], 1e-5f + 1e-5f * std::abs(wanted[i])) << "it adds";
}

INSTANTIATE_TEST_SUITE_P(
    Models, SingleNetworkTest,
    testing::Values(Case{"numbers",
                         {.spaces = {Box({5}), Discrete(3)},
                          .trunk = {{16, Activation::kTanh}, {16, Activation::kRelu}},
                          .normalize_observation = true},
                         450},
                    Case{"head_alone", {.spaces = {Box({4}), Discrete(2)}, .trunk = {}}, 7},
                    Case{"pictures",
                         {.spaces = {Image({12, 12, 1}), Discrete(4)},
                          .trunk = {{16, Activation::kRelu}},
                          .encoders = {{.input = "",
                                        .stack = 2,
                                        .layers = {*Layer::Parse("conv 8 4 2 0 relu"),
                                                   *Layer::Parse("flatten")}}}},
                         40}),
    [](const auto& info) { return info.param.name; });

/// Against a policy and a value of one trunk.
TEST(SingleNetworkTest, RunsTheHeadsOfNetworksThatShareItsLayers) {
  const PolicyAndValue shared{.spaces = {Box({5}), Discrete(3)},
                              .trunk = {{16, Activation::kTanh}, {16, Activation::kRelu}},
                              .separate_value = false};
  const ModelSpec spec = shared.ToSpec();
  const ParameterLayout layout(spec);
  AlignedFloats parameters(layout.total);
  InitializeParameters(spec, 3, parameters, {Initializer::kXavier});
  constexpr int kRows = 450;
  const std::vector<float> observations = Numbers(5 * kRows, 5), d_outputs = Numbers(3 * kRows, 8),
                           d_values = Numbers(kRows, 9), zeros(kRows, 0.0f);
  ActorCritic both(spec, kRows);
  SingleNetwork network(spec, layout, "policy", kRows, {"value"});
  EXPECT_EQ(network.outputs(1), 1);
  std::vector<float> wanted_outputs(3 * kRows), wanted_values(kRows), outputs(3 * kRows),
      values(kRows);
  both.Forward(parameters, observations.data(), kRows, wanted_outputs.data(), wanted_values.data());
  float* const blocks[] = {outputs.data(), values.data()};
  network.Forward(parameters, observations.data(), kRows, blocks);
  EXPECT_EQ(outputs, wanted_outputs);
  EXPECT_EQ(values, wanted_values);

  std::vector<float> wanted(layout.trained_count()), gradient(layout.trained_count(), 0.0f);
  both.Backward(parameters, d_outputs.data(), d_values.data(), wanted);
  const float* const d_blocks[] = {d_outputs.data(), d_values.data()};
  network.Backward(parameters, d_blocks, gradient);
  EXPECT_EQ(gradient, wanted);

  network.Forward(parameters, observations.data(), kRows, outputs.data());
  std::ranges::fill(gradient, 0.0f);
  network.Backward(parameters, d_outputs.data(), gradient);
  both.Forward(parameters, observations.data(), kRows, wanted_outputs.data(), wanted_values.data());
  both.Backward(parameters, d_outputs.data(), zeros.data(), wanted);
  for (std::size_t i = 0; i < gradient.size(); ++i)
    ASSERT_NEAR(gradient[i], wanted[i], 1e-5f) << "its own head alone";
}

TEST(TargetNetworksTest, MoveAPartOfTheWayOrAllOfIt) {
  const ModelSpec spec = WithTarget(PolicyAndValue{
      .spaces = {Box({3}), Discrete(2)},
      .trunk = {{4, Activation::kTanh}}}.ToSpec());
  const ParameterLayout layout(spec);
  AlignedFloats parameters(layout.total);
  InitializeParameters(spec, 3, parameters);
  const TargetNetworks targets(spec, layout);
  ASSERT_FALSE(targets.empty());
  const TensorSlot &own = layout.Find("policy.0.weight"), &target = layout.Find("target.0.weight");
  const float before = parameters[target.offset + 1];
  for (std::size_t i = 0; i < layout.trained_count(); ++i) parameters[i] += 1.0f;
  const std::vector<float> trained(parameters.begin(), parameters.end());
  targets.Move(parameters, 0.25f);
  EXPECT_FLOAT_EQ(parameters[target.offset + 1], before + 0.25f);
  targets.Move(parameters, 1.0f);
  for (std::size_t i = 0; i < own.count; ++i)
    EXPECT_EQ(parameters[target.offset + i], parameters[own.offset + i]);
  for (std::size_t i = 0; i < layout.trained_count(); ++i) EXPECT_EQ(parameters[i], trained[i]);
  EXPECT_TRUE(TargetNetworks(PolicyAndValue{.spaces = {Box({3}), Discrete(2)}}.ToSpec(),
                             ParameterLayout(PolicyAndValue{.spaces = {Box({3}), Discrete(2)}}))
                  .empty());
}

}  // namespace
}  // namespace murmurate
