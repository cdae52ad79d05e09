#include "server/schema/model_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/config/config_text.h"
#include "server/config/model_settings.h"
#include "shared/model/network_plan.h"

namespace murmurate {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const Spaces kPixels = {Image({84, 84, 1}), Discrete(6)};
const Spaces kNumbers = {Box({4}), Discrete(2)};

std::string LayersOf(const std::vector<Layer>& layers) {
  std::string text;
  for (const Layer& layer : layers) text += layer.ToText() + "; ";
  return text;
}

TEST(ModelConfig, NothingSaidIsTwoLayersOf64) {
  const ModelSpec spec = *MakeSpec({}, kNumbers);
  EXPECT_EQ(LayersOf(spec.policy().trunk), "dense 64 tanh; dense 64 tanh; ");
  EXPECT_TRUE(spec.Find("value")->shares.empty());
  EXPECT_TRUE(spec.policy().encoders.empty());
}

TEST(ModelConfig, PicturesAreEncodedByTheirSize) {
  const Spaces spaces = {Dict({{"camera", Image({64, 96, 3})},
                               {"radar", Image({10, 5, 1})},
                               {"dots", Image({2, 2, 1})},
                               {"speed", Box({3})}}),
                         Discrete(2)};
  const ModelSpec spec = *MakeSpec({}, spaces);
  EXPECT_EQ(LayersOf(spec.policy().FindEncoder("camera")->layers),
            "conv 32 8 4 0 relu; conv 64 4 2 0 relu; conv 64 3 1 0 relu; flatten; ");
  EXPECT_EQ(LayersOf(spec.policy().FindEncoder("radar")->layers), "conv 16 3 1 1 relu; flatten; ");
  EXPECT_EQ(spec.policy().FindEncoder("dots"), nullptr);
  EXPECT_EQ(spec.policy().FindEncoder("speed"), nullptr);
  EXPECT_EQ(LayersOf(spec.policy().trunk), "dense 512 relu; ");
  const ModelSpec small = *MakeSpec({}, {Image({10, 5, 1}), Discrete(3)});
  EXPECT_EQ(LayersOf(small.policy().trunk), "dense 64 relu; dense 64 relu; ");
  const ModelSpec flat = *MakeSpec({.trunk = "mlp"}, spaces);
  EXPECT_TRUE(flat.policy().encoders.empty());
}

TEST(ModelConfig, ALargePictureIsMadeSmallerFirst) {
  const auto layers_of = [](const Space& picture) {
    return LayersOf(MakeSpec({}, {picture, Discrete(2)})->policy().encoders[0].layers);
  };
  const std::string nature =
      "conv 32 8 4 0 relu; conv 64 4 2 0 relu; conv 64 3 1 0 relu; flatten; ";
  EXPECT_EQ(layers_of(Image({256, 256, 1})), nature);
  EXPECT_EQ(layers_of(Image({257, 100, 3})), "max_pool 2 2 0; " + nature);
  EXPECT_EQ(layers_of(Image({480, 640, 3})), "max_pool 3 3 0; " + nature);
  EXPECT_EQ(layers_of(Image({1080, 1920, 2})), "max_pool 8 8 0; " + nature);
}

TEST(ModelConfig, TheSmallestPictureForNatureCnnFits) {
  EXPECT_TRUE(MakeSpec({}, {Image({36, 36, 1}), Discrete(2)}).ok());
  EXPECT_EQ(MakeSpec({}, {Image({35, 36, 1}), Discrete(2)})->policy().encoders[0].layers.size(),
            2u);
  EXPECT_FALSE(MakeSpec({.trunk = "nature_cnn"}, {Image({35, 36, 1}), Discrete(2)}).ok());
}

TEST(ModelConfig, NatureCnnIsThePapersWithItsStack) {
  const ModelSpec spec = *MakeSpec({.trunk = "nature_cnn", .frame_stack = 4}, kPixels);
  ASSERT_EQ(spec.policy().encoders.size(), 1u);
  EXPECT_EQ(spec.policy().encoders[0].stack, 4);
  EXPECT_EQ(LayersOf(spec.policy().encoders[0].layers),
            "conv 32 8 4 0 relu; conv 64 4 2 0 relu; conv 64 3 1 0 relu; flatten; ");
  EXPECT_EQ(LayersOf(spec.policy().trunk), "dense 512 relu; ");
}

TEST(ModelConfig, ImpalaCnnHasFifteenConvolutions) {
  const ModelSpec spec = *MakeSpec({.trunk = "impala_cnn", .recurrent = "lstm 256"}, kPixels);
  int convolutions = 0;
  for (const Layer& layer : spec.policy().encoders[0].layers)
    convolutions += layer.kind == Layer::Kind::kConv;
  EXPECT_EQ(convolutions, 15);
  // 84 -> 42 -> 21 -> 11, 32 channels
  EXPECT_EQ(PlanNetwork(spec, "policy")->joined, 11 * 11 * 32);
  EXPECT_EQ(LayersOf(spec.policy().trunk), "dense 256 relu; lstm 256; ");
  EXPECT_FALSE(spec.Find("value")->shares.empty()) << "no player holds the value's state";
}

TEST(ModelConfig, InputsAreEncodedEachInItsOwnWay) {
  const Spaces spaces = {Dict({{"camera", Image({20, 20, 3})}, {"speed", Box({3})}}), Discrete(2)};
  const ModelSpec spec =
      *MakeSpec({.trunk = "nature_cnn",
                 .layers = {{"dense 32", "layer_norm"}},
                 .inputs = {"speed: dense 16", "camera: conv 8 3 2", "camera: flatten"},
                 .activation = Activation::kElu,
                 .frame_stack = 2},
                spaces);
  EXPECT_EQ(LayersOf(spec.policy().FindEncoder("speed")->layers), "dense 16 elu; ");
  EXPECT_EQ(spec.policy().FindEncoder("speed")->stack, 1) << "pictures are stacked";
  EXPECT_EQ(LayersOf(spec.policy().FindEncoder("camera")->layers), "conv 8 3 2 0 elu; flatten; ");
  EXPECT_EQ(spec.policy().FindEncoder("camera")->stack, 2);
  EXPECT_EQ(LayersOf(spec.policy().trunk), "dense 32 elu; layer_norm; ");
}

TEST(ModelConfig, WithoutPicturesNumbersAreStacked) {
  const ModelSpec spec = *MakeSpec({.frame_stack = 3}, kNumbers);
  EXPECT_EQ(spec.policy().FindEncoder("")->stack, 3);
  EXPECT_EQ(PlanNetwork(spec, "policy")->joined, 12);
}

TEST(ModelConfig, ThePreviousStepIsReadBesideStackedNumbersAndMayHaveLayers) {
  const ModelSpec spec = *MakeSpec({.inputs = {"previous_reward: dense 8"},
                                    .frame_stack = 3,
                                    .previous = {.action = true, .reward = true}},
                                   kNumbers);
  EXPECT_EQ(spec.spaces, kNumbers);
  EXPECT_EQ(spec.policy().FindEncoder("")->stack, 3);
  EXPECT_EQ(LayersOf(spec.policy().FindEncoder("previous_reward")->layers), "dense 8 tanh; ");
  EXPECT_EQ(PlanNetwork(spec, "policy")->joined, 12 + (kNumbers.action.n + 1) + 8);
}

TEST(ModelConfig, WhatDoesNotFitIsSaid) {
  const auto message = [](const ModelConfig& words, const Spaces& spaces = kPixels) {
    return MakeSpec(words, spaces).status().message();
  };
  EXPECT_THAT(message({.trunk = "nature_cnn"}, kNumbers), HasSubstr("use trunk = \"mlp\""));
  EXPECT_THAT(message({.trunk = "nature_cnn"}, {Image({16, 16, 1}), Discrete(2)}),
              HasSubstr("larger than its input"));
  EXPECT_THAT(message({.inputs = {"flatten"}}), HasSubstr("\"NAME: LAYER\" was expected"));
  EXPECT_THAT(message({.inputs = {"sound: flatten"}}), HasSubstr("no such part"));
  EXPECT_THAT(message({.recurrent = "dense 8"}), HasSubstr("\"lstm UNITS\""));
  EXPECT_THAT(message({.recurrent = "gru 8", .separate_value = true}),
              HasSubstr("share the trunk"));
}

ConfigSource Text(const std::string& text) { return {"game.toml", "game", text}; }

TEST(ModelConfig, AConfigsMistakesAreNamedWithTheirLine) {
  const auto load = [](const std::string& model) {
    return Config::Load(Text("[model]\n" + model), {}).status().message();
  };
  EXPECT_THAT(load("layers = [64, \"conv 32 8\"]"),
              AllOf(HasSubstr("game.toml:2: model.layers"), HasSubstr("conv FILTERS KERNEL")));
  EXPECT_THAT(load("layers = [0]"), HasSubstr("units (1 to 65536)"));
  EXPECT_THAT(load("trunk = \"resnet\""), HasSubstr("\"nature_cnn\""));
  EXPECT_THAT(load("frame_stack = 17"), HasSubstr("from 1 to 16"));
  const auto config = Config::Load(Text("[model]\n\ntrunk = \"nature_cnn\""), {});
  ASSERT_TRUE(config.ok());
  EXPECT_THAT(ModelFor(*config, "default", kNumbers).status().message(),
              AllOf(HasSubstr("game.toml:3: model.trunk: "), EndsWith("use trunk = \"mlp\"")));
}

TEST(ModelConfig, OfSeveralKeysTheGuiltyOneIsNamed) {
  const auto refusal = [](const std::string& text, const std::string& model) {
    const auto config = Config::Load(Text(text), {});
    EXPECT_TRUE(config.ok()) << config.status();
    return ModelFor(*config, model, kNumbers).status().message();
  };
  EXPECT_THAT(refusal("[model]\nlayers = [8]\ntrunk = \"nature_cnn\"\nframe_stack = 2", "default"),
              HasSubstr("game.toml:3: model.trunk: "));
  EXPECT_THAT(refusal("[model]\nlayers = [8]\n[model.npc]\ntrunk = \"nature_cnn\"", "npc"),
              HasSubstr("game.toml:4: model.npc.trunk: "));
}

/// A config, the spaces of the first actor, and what the one line of refusal holds.
struct Unworkable {
  const char* model;
  Spaces spaces;
  const char* line;
  const char* sentence;
};

TEST(ModelConfig, WhatCannotWorkIsRefusedWithItsLine) {
  const Spaces dict = {Dict({{"camera", Image({84, 84, 3})}, {"speed", Box({2})}}), Discrete(4)};
  const std::string wide = "layers = [\"dense 65536\", \"dense 65536\"]";
  std::string enormous = "layers = [65536";  // 2 x 63 x 2^32: half of 2^40 weights
  for (int i = 0; i < 63; ++i) enormous += ", 65536";
  enormous += "]";
  const std::vector<Unworkable> all = {
      {"layers = [\"conv 16 3 1\"]", kNumbers,
       "game.toml:3: model.layers: ", "larger than its input of 4"},
      {"inputs = [\"camera: conv 8 100 1\"]", dict,
       "game.toml:3: model.inputs: ", "larger than its input of 84 x 84 x 3"},
      {"inputs = [\"camera: residual\", \"camera: conv 8 3 2\", \"camera: add\"]", dict,
       "game.toml:3: model.inputs: ", "they must agree"},
      {"inputs = [\"radar: flatten\"]", dict, "game.toml:3: model.inputs: ", "no such part"},
      {"trunk = \"impala_cnn\"", kNumbers, "game.toml:3: model.trunk: ", "trunk = \"mlp\""},
      {wide.c_str(), kNumbers, "game.toml:3: model.layers: ", "at most 268435456"},
      {enormous.c_str(), kNumbers,
       "game.toml:3: model.layers: ", "has 541174988803 parameters where at most 268435456"},
  };
  for (const Unworkable& one : all) {
    const auto config = Config::Load(Text(std::string("[model]\n\n") + one.model), {});
    ASSERT_TRUE(config.ok()) << config.status();
    const std::string message = ModelFor(*config, "default", one.spaces).status().message();
    EXPECT_THAT(message, AllOf(StartsWith(one.line), HasSubstr(one.sentence))) << one.model;
  }
}

TEST(ModelConfig, ThePreviousStepIsOffUntilItIsAskedFor) {
  const auto previous = [](const std::string& keys) {
    return ModelFor(*Config::Load(Text("[model]\n" + keys), {}), "default", kNumbers)
        ->spec.previous;
  };
  EXPECT_EQ(previous(""), PreviousInputs());
  EXPECT_EQ(previous("previous_action = true"), (PreviousInputs{.action = true}));
  EXPECT_EQ(previous("previous_reward = true"), (PreviousInputs{.reward = true}));
  const Spaces own = {Dict({{"previous_reward", Box({1})}}), Discrete(2)};
  EXPECT_THAT(ModelFor(*Config::Load(Text("[model]\nprevious_reward = true"), {}), "default", own)
                  .status()
                  .message(),
              StartsWith("game.toml:2: model.previous_reward: the observation has a part"));
}

TEST(ModelConfig, AConfigSaysAllOfIt) {
  const auto config = Config::Load(
      Text("[model]\ntrunk = \"nature_cnn\"\nlayers = [128, \"layer_norm\"]\n"
           "recurrent = \"lstm 32\"\nframe_stack = 4\nnormalize_observation = false\n"),
      {});
  ASSERT_TRUE(config.ok()) << config.status();
  const auto model = ModelFor(*config, "default", kPixels);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(LayersOf(model->spec.policy().trunk), "dense 128 relu; layer_norm; lstm 32; ");
  const auto again = Config::Load(Text(ResolvedToml(*config)), {});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(ModelFor(*again, "default", kPixels)->spec, model->spec);
}

}  // namespace
}  // namespace murmurate
