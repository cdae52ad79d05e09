// Networks that read the action, run by themselves: outputs and gradients, by parameters and by
// actions, against finite differences.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "server/network/actor_critic.h"
#include "server/network/single_network.h"
#include "shared/core/random.h"
#include "shared/model/observation_layout.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {
namespace {

std::vector<float> Numbers(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> numbers(count);
  for (float& number : numbers) number = 2.0f * random.Uniform() - 1.0f;
  return numbers;
}

ModelSpec WithCritic(ModelSpec spec) {
  NetworkSpec critic = spec.policy();
  critic.name = "q";
  critic.published = false;
  critic.reads_action = true;
  critic.outputs = 2;
  spec.networks = {spec.policy(), critic, {.name = "target_q", .follows = "q"}};
  return spec;
}

struct Case {
  const char* name;
  PolicyAndValue model;
  int rows;
  int every;  ///< which parameters are moved
};

class ActionNetworkTest : public testing::TestWithParam<Case> {
 protected:
  ActionNetworkTest()
      : spec_(WithCritic(GetParam().model.ToSpec())),
        layout_(spec_),
        rows_(GetParam().rows),
        critic_(spec_, layout_, "q", rows_),
        parameters_(layout_.total) {
    EXPECT_TRUE(CheckModel(spec_).ok());
    InitializeParameters(spec_, 3, parameters_, {Initializer::kXavier});
    const std::size_t words = ObservationLayout(StackedObservation(spec_)).row_bytes() / 4 *
                              static_cast<std::size_t>(rows_);
    const std::vector<float> numbers = Numbers(words, 5);
    Random random(6);
    for (const float number : numbers)
      observations_.push_back(spec_.spaces.observation.element == Space::Element::kUint8
                                  ? static_cast<std::uint32_t>(random.Next())
                                  : std::bit_cast<std::uint32_t>(number));
    actions_ = Numbers(static_cast<std::size_t>(rows_ * critic_.action_features()), 7);
    d_outputs_ = Numbers(static_cast<std::size_t>(rows_ * critic_.outputs()), 8);
  }

  double Loss() {
    std::vector<float> outputs(d_outputs_.size());
    critic_.Forward(parameters_, observations_.data(), rows_, outputs.data(), actions_.data());
    double loss = 0.0;
    for (std::size_t i = 0; i < outputs.size(); ++i) loss += double{outputs[i]} * d_outputs_[i];
    return loss;
  }
  double Slope(float* number) {
    constexpr float kBy = 1e-2f;
    const float before = *number;
    *number = before + kBy;
    const double more = Loss();
    *number = before - kBy;
    const double less = Loss();
    *number = before;
    return (more - less) / (2.0 * kBy);
  }

  const ModelSpec spec_;
  const ParameterLayout layout_;
  const int rows_;
  SingleNetwork critic_;
  AlignedFloats parameters_;
  std::vector<std::uint32_t> observations_;
  std::vector<float> actions_, d_outputs_;
};

TEST_P(ActionNetworkTest, HasTheGradientsOfItsOutputs) {
  std::vector<float> gradient(layout_.trained_count(), 0.0f), d_actions(actions_.size());
  Loss();
  critic_.Backward(parameters_, d_outputs_.data(), gradient, d_actions.data());
  for (std::size_t i = 0; i < actions_.size(); i += actions_.size() / 20 + 1)
    EXPECT_NEAR(d_actions[i], Slope(&actions_[i]), 2e-3 + 2e-3 * std::abs(d_actions[i])) << i;
  for (const TensorSlot& tensor : layout_.tensors) {
    if (tensor.offset >= layout_.trained_count()) continue;
    for (std::size_t i = tensor.offset; i < tensor.offset + tensor.count;
         i += static_cast<std::size_t>(GetParam().every))
      EXPECT_NEAR(gradient[i], Slope(&parameters_[i]), 4e-3 + 4e-3 * std::abs(gradient[i]))
          << tensor.name << ' ' << i - tensor.offset;
  }
}

TEST_P(ActionNetworkTest, GivesOneGradientWithoutTheOther) {
  std::vector<float> gradient(layout_.trained_count(), 0.0f), alone = gradient;
  std::vector<float> d_actions(actions_.size()), alone_actions = d_actions;
  Loss();
  critic_.Backward(parameters_, d_outputs_.data(), gradient, d_actions.data());
  critic_.Backward(parameters_, d_outputs_.data(), {}, alone_actions.data());
  EXPECT_EQ(alone_actions, d_actions);
  critic_.Backward(parameters_, d_outputs_.data(), alone);
  EXPECT_EQ(alone, gradient);
}

TEST_P(ActionNetworkTest, FollowsWithTheSameOutputs) {
  SingleNetwork target(spec_, layout_, "target_q", rows_);
  std::vector<float> outputs(d_outputs_.size()), followed(d_outputs_.size());
  critic_.Forward(parameters_, observations_.data(), rows_, outputs.data(), actions_.data());
  target.Forward(parameters_, observations_.data(), rows_, followed.data(), actions_.data());
  EXPECT_EQ(followed, outputs);
}

INSTANTIATE_TEST_SUITE_P(
    Models, ActionNetworkTest,
    testing::Values(Case{"numbers",
                         {.spaces = {Box({5}), Box({3}, -1, 1)},
                          .trunk = {{16, Activation::kTanh},
                                    *Layer::Parse("layer_norm"),
                                    {8, Activation::kTanh}},
                          .normalize_observation = true},
                         200,
                         7},
                    Case{"choices_and_numbers",
                         {.spaces = {Box({3}), Dict({{"a", Discrete(3)}, {"b", Box({2}, -1, 1)}})},
                          .trunk = {{16, Activation::kTanh}}},
                         9,
                         3},
                    Case{"head_alone", {.spaces = {Box({4}), Box({2}, -1, 1)}, .trunk = {}}, 7, 1},
                    Case{"residual",
                         {.spaces = {Box({4}), Box({2}, -1, 1)},
                          .trunk = {{6, Activation::kTanh},
                                    *Layer::Parse("residual"),
                                    {6, Activation::kTanh},
                                    *Layer::Parse("add")}},
                         7,
                         2},
                    Case{"pictures",
                         {.spaces = {Image({12, 12, 1}), Box({2}, -1, 1)},
                          .trunk = {{16, Activation::kTanh}},
                          .encoders = {{.input = "",
                                        .stack = 2,
                                        .layers = {*Layer::Parse("conv 8 4 2 0 tanh"),
                                                   *Layer::Parse("flatten")}}}},
                         20,
                         211},
                    Case{"two_inputs",
                         {.spaces = {Dict({{"eye", Box({6, 6, 1})}, {"speed", Box({3})}}),
                                     Box({2}, -1, 1)},
                          .trunk = {{16, Activation::kTanh}},
                          .encoders = {{.input = "eye",
                                        .layers = {*Layer::Parse("conv 4 3 1 0 tanh"),
                                                   *Layer::Parse("flatten"),
                                                   {10, Activation::kTanh}}}}},
                         200,
                         53}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace murmurate
