// A network over sequences by itself against the same network beside a value (actor_critic.h, whose
// own reference is in double).
#include "server/network/sequence_network.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "server/network/actor_critic.h"
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

class SequenceNetworkTest : public testing::TestWithParam<const char*> {};

TEST_P(SequenceNetworkTest, GivesOutputsStatesAndGradientsOfANetworkBesideAValue) {
  constexpr int kSteps = 67, kCount = 3, kRows = kSteps * kCount;  // more rows than one chunk
  PolicyAndValue model{
      .spaces = {Box({5}), Discrete(3)},
      .trunk = {{16, Activation::kTanh}, *Layer::Parse(GetParam()), {16, Activation::kRelu}},
      .separate_value = false};
  ModelSpec spec = model.ToSpec();
  spec.networks.push_back({.name = "target", .follows = "policy"});
  const ParameterLayout layout(spec);
  AlignedFloats parameters(layout.total);
  InitializeParameters(spec, 3, parameters, {Initializer::kXavier});
  ActorCritic both(spec, kRows);
  SequenceNetwork policy(spec, layout, "policy", kRows), target(spec, layout, "target", kRows);
  const auto states = static_cast<std::size_t>(kCount * policy.state_floats());
  const std::vector<float> observations = Numbers(5 * kRows, 5), state0 = Numbers(states, 6);
  std::vector<std::uint8_t> first(kRows, 0);
  first[20] = first[100] = 1;
  std::vector<float> wanted_state(states), found_state(states), followed_state(states);
  Sequences sequences{kSteps, kCount, first.data(), state0.data(), wanted_state.data()};
  const auto outputs = static_cast<std::size_t>(kRows * both.outputs());
  std::vector<float> expected(outputs), values(kRows), found(outputs);
  both.Forward(parameters, observations.data(), kRows, expected.data(), values.data(), &sequences);
  sequences.state_out = followed_state.data();
  target.Forward(parameters, observations.data(), sequences, nullptr);
  sequences.state_out = found_state.data();
  policy.Forward(parameters, observations.data(), sequences, found.data());
  EXPECT_EQ(found, expected);
  EXPECT_EQ(found_state, wanted_state);
  EXPECT_EQ(followed_state, wanted_state) << "a target begins as what it follows";

  const std::vector<float> d_outputs = Numbers(outputs, 8), d_values(kRows, 0.0f);
  std::vector<float> wanted(layout.trained_count()), gradient(layout.trained_count(), 0.0f);
  both.Backward(parameters, d_outputs.data(), d_values.data(), wanted);
  policy.Backward(parameters, d_outputs.data(), gradient);
  EXPECT_EQ(gradient, wanted);
}

INSTANTIATE_TEST_SUITE_P(Cells, SequenceNetworkTest, testing::Values("lstm 8", "gru 8"),
                         [](const auto& cell) { return cell.index == 0 ? "lstm" : "gru"; });

}  // namespace
}  // namespace murmurate
