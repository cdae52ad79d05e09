#include "shared/model/network_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/model/model_spec.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<Layer> Layers(std::initializer_list<const char*> texts) {
  std::vector<Layer> layers;
  for (const char* text : texts) layers.push_back(*Layer::Parse(text));
  return layers;
}

PolicyAndValue Pixels(std::vector<Layer> layers, int stack = 4) {
  PolicyAndValue spec;
  spec.spaces = {Image({84, 84, 1}), Discrete(6)};
  spec.encoders = {{"", stack, std::move(layers)}};
  spec.trunk = Layers({"dense 512 relu"});
  return spec;
}

std::vector<std::string> Shapes(const std::vector<PlannedLayer>& layers) {
  std::vector<std::string> shapes;
  for (const PlannedLayer& layer : layers) shapes.push_back(layer.out.ToText());
  return shapes;
}

TEST(NetworkPlan, NatureCnnHasTheShapesAndCostsOfItsPaper) {  // Mnih et al. 2015
  const auto plan = PlanNetwork(
      Pixels(Layers({"conv 32 8 4 0 relu", "conv 64 4 2 0 relu", "conv 64 3 1 0 relu", "flatten"})),
      "policy");
  ASSERT_TRUE(plan.ok()) << plan.status();
  const auto& layers = plan->inputs[0].layers;
  EXPECT_THAT(Shapes(layers), ElementsAre("20 x 20 x 32", "9 x 9 x 64", "7 x 7 x 64", "3136"));
  EXPECT_EQ(layers[0].name, "policy.observation.0");
  EXPECT_EQ(plan->inputs[0].in, (LayerShape{84, 84, 4}));
  EXPECT_EQ(plan->joined, 3136);
  EXPECT_EQ(plan->features, 512);
  EXPECT_EQ(layers[0].parameters(), 8 * 8 * 4 * 32 + 32);
  EXPECT_EQ(layers[1].parameters(), 32832);
  EXPECT_EQ(layers[2].parameters(), 36928);
  EXPECT_EQ(plan->trunk[0].parameters(), 3136 * 512 + 512);
  EXPECT_EQ(layers[0].flops(), 2.0 * 20 * 20 * 8 * 8 * 4 * 32);
  EXPECT_EQ(plan->trunk[0].flops(), 2.0 * 3136 * 512);
}

TEST(NetworkPlan, AResidualBlockKeepsItsShape) {
  const auto plan = PlanNetwork(Pixels(Layers({"conv 16 3 1 1 none", "max_pool 3 2 1", "residual",
                                               "relu", "conv 16 3 1 1 relu", "add", "flatten"})),
                                "value");
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(Shapes(plan->inputs[0].layers),
              ElementsAre("84 x 84 x 16", "42 x 42 x 16", "42 x 42 x 16", "42 x 42 x 16",
                          "42 x 42 x 16", "42 x 42 x 16", "28224"));
  EXPECT_EQ(plan->inputs[0].layers[4].name, "value.observation.4");
}

TEST(NetworkPlan, InputsAreJoinedInTheOrderOfTheSpace) {
  PolicyAndValue spec;
  spec.spaces = {Dict({{"map", Image({4, 4, 2})}, {"speed", Box({3})}, {"kind", Discrete(10)}}),
                 Discrete(2)};
  spec.encoders = {{"speed", 2, Layers({"dense 8 tanh"})}};
  spec.trunk = Layers({"lstm 16", "gru 4"});
  const auto plan = PlanNetwork(spec, "policy");
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->inputs.size(), 3u);
  EXPECT_EQ(plan->inputs[0].features, 32);
  EXPECT_EQ(plan->inputs[1].in, (LayerShape{1, 1, 6})) << "two frames of three numbers";
  EXPECT_EQ(plan->inputs[1].first_feature, 32);
  EXPECT_EQ(plan->inputs[2].first_feature, 40);
  EXPECT_EQ(plan->inputs[2].features, 10) << "one-hot";
  EXPECT_EQ(plan->joined, 50);
  EXPECT_EQ(plan->features, 4);
  EXPECT_EQ(plan->state_floats, 2 * 16 + 4);
  EXPECT_EQ(plan->trunk[0].parameters(), 4 * 16 * (50 + 16 + 1));
  EXPECT_EQ(plan->trunk[1].parameters(), 3 * 4 * (16 + 4 + 1) + 4);
}

TEST(NetworkPlan, WhatDoesNotFitIsNamedWithBothShapes) {
  const auto message = [](std::initializer_list<const char*> layers) {
    return PlanNetwork(Pixels(Layers(layers)), "policy").status().message();
  };
  EXPECT_THAT(message({"dense 8 relu"}),
              HasSubstr("layer policy.observation.0 (dense 8 relu): it needs a vector, and "
                        "84 x 84 x 4 comes to it: put \"flatten\" before it"));
  EXPECT_THAT(message({"conv 8 90 1 0 relu"}), HasSubstr("larger than its input of 84 x 84 x 4"));
  EXPECT_THAT(message({"flatten", "conv 8 3 1 0 relu"}), HasSubstr("larger than its input"));
  EXPECT_THAT(message({"max_pool 3 2 2"}), HasSubstr("half its kernel"));
  EXPECT_THAT(message({"residual", "conv 8 3 1 1 relu", "add"}),
              HasSubstr("84 x 84 x 4 went into the residual block and 84 x 84 x 8 comes out"));
  EXPECT_THAT(message({"add"}), HasSubstr("no \"residual\" before it"));
  EXPECT_THAT(message({"residual"}), HasSubstr("has no \"add\" after it"));
  EXPECT_THAT(message({"residual", "residual", "add", "add"}), HasSubstr("inside another"));
  EXPECT_THAT(message({"flatten", "lstm 8"}), HasSubstr("only the trunk may recur"));
  EXPECT_THAT(message({"conv 65536 1 1 0 relu"}), HasSubstr("more than 67108864 numbers"));
}

}  // namespace
}  // namespace murmurate
