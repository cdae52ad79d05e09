#include "shared/model/model_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/model/network_plan.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {
namespace {

constexpr char kText[] =
    "murmurate-model 2\n"
    "observation float32 4\n"
    "action discrete 2\n"
    "normalize_observation 1\n"
    "networks 2\n"
    "network policy published trained\n"
    "dense 64 tanh\n"
    "dense 32 relu\n"
    "head action\n"
    "network value trained\n"
    "dense 64 tanh\n"
    "dense 32 relu\n"
    "head 1\n";

/// What a version before named networks wrote of the same model.
constexpr char kOldText[] =
    "murmurate-model 1\n"
    "observation float32 4\n"
    "action discrete 2\n"
    "dense 64 tanh\n"
    "dense 32 relu\n"
    "separate_value 1\n"
    "normalize_observation 1\n";

ModelSpec Example() {
  PolicyAndValue spec;
  spec.spaces = {Box({4}), Discrete(2)};
  spec.trunk = {{64, Activation::kTanh}, {32, Activation::kRelu}};
  spec.normalize_observation = true;
  return spec;
}

TEST(ModelSpec, TextFormIsTheDocumentedOne) { EXPECT_EQ(Example().ToText(), kText); }

TEST(ModelSpec, ParseGivesBackWhatToTextWrote) {
  const Result<ModelSpec> parsed = ModelSpec::Parse(kText);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(*parsed, Example());
}

TEST(ModelSpec, TheTextOfAnEarlierVersionIsTheSameModel) {
  const Result<ModelSpec> parsed = ModelSpec::Parse(kOldText);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->ToText(), kText);
  const std::string text = kOldText;
  for (std::size_t size = 0; size + 1 < text.size(); ++size) {
    EXPECT_FALSE(ModelSpec::Parse(text.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(ModelSpec::Parse(text + "head 1\n").ok());
}

TEST(ModelSpec, HashIsSha256OfTheText) {  // printf '...' | sha256sum
  EXPECT_EQ(ToHex(Example().Hash()),
            "8a1e59573e2edbea82450937906f5b472e6f193d26e064f0143b0eea540a04ab");
  EXPECT_EQ(Example().ShortHash(), 0xeadb2e3e57591e8au);
}

TEST(ModelSpec, AnyCutOfTheTextIsRefused) {
  const std::string text = kText;
  for (std::size_t size = 0; size + 1 < text.size(); ++size) {
    EXPECT_FALSE(ModelSpec::Parse(text.substr(0, size)).ok()) << size;
  }
}

std::string Replaced(std::string from, std::string to) {
  std::string text = kText;
  return text.replace(text.find(from), from.size(), to);
}

TEST(ModelSpec, AnythingUnknownIsRefusedWithTheLine) {
  for (const std::string& text :
       {Replaced("model 2", "model 3"),
        Replaced("dense 64 tanh", "dense 0 tanh"),
        Replaced("dense 64 tanh", "dense 65537 tanh"),
        Replaced("dense 64 tanh", "dense 064 tanh"),
        Replaced("dense 64 tanh", "conv 64 tanh"),
        Replaced("tanh", "softplus"),
        Replaced("normalize_observation 1", "normalize_observation 2"),
        Replaced("normalize_observation 1\n", "normalize_observation 1\nnormalize_observation 1\n"),
        Replaced("network value", "network policy"),
        Replaced("network value", "network 2value"),
        Replaced("published trained", "trained published"),
        Replaced(" published", ""),
        Replaced("value trained", "value"),
        Replaced("value trained", "value trained follows"),
        Replaced("value trained", "value trained follows policy"),
        Replaced("head 1", "head 0"),
        Replaced("head 1", "head 65537"),
        Replaced("head action", "head 2"),
        Replaced("head 1\n", "head 1\nhead 1\n"),
        Replaced("network value trained\n", ""),
        Replaced("networks 2", "networks 1"),
        Replaced("networks 2", "networks 3"),
        Replaced("networks 2", "networks 17"),
        Replaced("networks 2\n", ""),
        Replaced("discrete 2", "discrete 5000"),
        Replaced("float32 4", "float32 1048577"),
        std::string(kText) + "x",
        std::string(kText) + "\n",
        std::string(20'000, 'x'),
        Replaced("dense 64 tanh\n", "dense 65536 tanh\ndense 65536 tanh\n")}) {
    EXPECT_FALSE(ModelSpec::Parse(text).ok()) << text.substr(0, 200);
  }
  const Result<ModelSpec> bad = ModelSpec::Parse(Replaced("dense 64 tanh", "dense 64 sin"));
  EXPECT_NE(bad.status().message().find("\"dense 64 sin\""), std::string::npos) << bad.status();
}

TEST(ModelSpec, AtMost256LayersInARow) {
  ModelSpec spec = Example();
  std::vector<Layer>& trunk = spec.networks[0].trunk;
  trunk.assign(256, {1, Activation::kTanh});
  EXPECT_TRUE(ModelSpec::Parse(spec.ToText()).ok());
  trunk.push_back({1, Activation::kTanh});
  EXPECT_FALSE(ModelSpec::Parse(spec.ToText()).ok());
}

constexpr char kWholeText[] =
    "murmurate-model 2\n"
    "observation.camera uint8 84 84 1\n"
    "observation.speed float32 3\n"
    "observation.kind categories 10\n"
    "action.move discrete 4\n"
    "action.turn continuous 2 low -1 -1 high 1 1\n"
    "normalize_observation 1\n"
    "state_dependent_deviation 0\n"
    "squashed 1\n"
    "networks 4\n"
    "network policy published trained\n"
    "input camera stack 4\n"
    "conv 16 3 1 1 none\n"
    "max_pool 3 2 1\n"
    "residual\n"
    "relu\n"
    "conv 16 3 1 1 relu\n"
    "add\n"
    "flatten\n"
    "input speed stack 1\n"
    "layer_norm\n"
    "dense 32 elu\n"
    "trunk\n"
    "dense 256 sigmoid\n"
    "gru 8\n"
    "lstm 16\n"
    "head action\n"
    "network value trained\n"
    "shares policy\n"
    "head 1\n"
    "network q1 trained\n"
    "reads action\n"
    "input camera stack 4\n"
    "flatten\n"
    "trunk\n"
    "dense 8 relu\n"
    "head 2\n"
    "network q1_target follows q1\n";

TEST(ModelSpec, EveryKindOfLineIsReadAndWrittenBack) {
  const Result<ModelSpec> parsed = ModelSpec::Parse(kWholeText);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->ToText(), kWholeText);
  const NetworkSpec& policy = parsed->policy();
  ASSERT_EQ(policy.encoders.size(), 2u);
  EXPECT_EQ(policy.encoders[0].stack, 4);
  EXPECT_EQ(policy.FindEncoder("speed")->layers[1],
            (Layer{32, Activation::kElu, Layer::Kind::kDense}));
  EXPECT_EQ(policy.FindEncoder("kind"), nullptr);
  EXPECT_EQ(parsed->StackOf("camera"), 4);
  EXPECT_EQ(parsed->Find("value")->shares, "policy");
  EXPECT_TRUE(parsed->Find("q1")->reads_action);
  EXPECT_EQ(parsed->Find("q1_target")->follows, "q1");
  EXPECT_EQ(parsed->Find("q2"), nullptr);
  EXPECT_EQ(parsed->normalized_count(), 3);
  EXPECT_TRUE(parsed->continuous.squashed);
}

TEST(ModelSpec, TheLineOfAScaledBoxIsReadAndWrittenAndOthersHaveNone) {
  const std::string text =
      "murmurate-model 2\nobservation float32 2\naction continuous 1 low 0 high 100\n"
      "normalize_observation 0\nstate_dependent_deviation 0\nsquashed 0\n";
  const std::string networks =
      "networks 1\nnetwork policy published trained\ndense 4 tanh\nhead action\n";
  const Result<ModelSpec> plain = ModelSpec::Parse(text + networks);
  const Result<ModelSpec> scaled = ModelSpec::Parse(text + "scale box\n" + networks);
  ASSERT_TRUE(plain.ok() && scaled.ok()) << scaled.status();
  EXPECT_FALSE(plain->continuous.scaled);
  EXPECT_TRUE(scaled->continuous.scaled);
  EXPECT_EQ(plain->ToText(), text + networks);
  EXPECT_EQ(scaled->ToText(), text + "scale box\n" + networks);
  EXPECT_NE(plain->ShortHash(), scaled->ShortHash());
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string other = text + "scale box\n" + networks;
    return !ModelSpec::Parse(other.replace(other.find(from), from.size(), to)).ok();
  };
  EXPECT_TRUE(refused("squashed 0", "squashed 1"));
  EXPECT_TRUE(refused(" low 0 high 100", ""));
  EXPECT_TRUE(refused(" low 0 high 100", " low -1 high 1"));
  EXPECT_TRUE(refused("scale box", "scale boxes"));
}

// The hashes are sha256sum's of the texts as they were before there was such a line.
TEST(ModelSpec, TheLineOfADeterministicPolicyIsReadAndWrittenAndOthersHaveNone) {
  const std::string text =
      "murmurate-model 2\nobservation float32 2\naction continuous 1 low 0 high 100\n"
      "normalize_observation 0\nstate_dependent_deviation 0\nsquashed 1\n";
  const std::string networks =
      "networks 1\nnetwork policy published trained\ndense 4 tanh\nhead action\n";
  const Result<ModelSpec> plain = ModelSpec::Parse(text + networks);
  const Result<ModelSpec> made = ModelSpec::Parse(text + "deterministic\n" + networks);
  ASSERT_TRUE(plain.ok() && made.ok()) << made.status();
  EXPECT_FALSE(plain->continuous.deterministic);
  EXPECT_TRUE(made->continuous.deterministic);
  EXPECT_EQ(plain->ToText(), text + networks);
  EXPECT_EQ(made->ToText(), text + "deterministic\n" + networks);
  EXPECT_EQ(ToHex(plain->Hash()),
            "4bb8957467bc91f1f03922a0d00e3826814d994f8d064cbe2462f0c942a97db9");
  EXPECT_EQ(ToHex(ModelSpec::Parse(kWholeText)->Hash()),
            "22cd1738681920a631481f720bb893c9dc32b2c43b09992cc03ba6d664730388");
  EXPECT_NE(plain->ShortHash(), made->ShortHash());
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string other = text + "deterministic\n" + networks;
    return !ModelSpec::Parse(other.replace(other.find(from), from.size(), to)).ok();
  };
  EXPECT_FALSE(refused("squashed 1", "squashed 0"));
  EXPECT_TRUE(refused(" low 0 high 100", ""));
  EXPECT_TRUE(refused("state_dependent_deviation 0", "state_dependent_deviation 1"));
  EXPECT_TRUE(refused("squashed 1\n", "squashed 0\nscale box\n"));
  EXPECT_TRUE(refused("deterministic", "deterministic 1"));
}

/// The target of a network that shares layers has those of the other's target.
TEST(ModelSpec, WhatSharesLayersHasATargetOverTheOthersTarget) {
  const std::string text =
      "murmurate-model 2\nobservation float32 3\naction discrete 2\nnormalize_observation 0\n"
      "networks 4\nnetwork policy published trained\ndense 4 tanh\nhead action\n"
      "network value trained\nshares policy\nhead 1\n";
  const std::string targets = "network old follows policy\nnetwork old_value follows value\n";
  const Result<ModelSpec> spec = ModelSpec::Parse(text + targets);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->ToText(), text + targets);
  const Result<NetworkPlan> plan = PlanNetwork(*spec, "old_value");
  ASSERT_TRUE(plan.ok());
  EXPECT_FALSE(plan->own_layers);
  EXPECT_EQ(plan->trunk[0].name, "old.0");
  EXPECT_EQ(plan->head.name, "old_value.head");
  EXPECT_EQ(plan->outputs, 1);
  EXPECT_TRUE(PlanNetwork(*spec, "old")->own_layers);
  std::vector<std::string> names;
  for (const TensorSlot& tensor : ParameterLayout(*spec).tensors) names.push_back(tensor.name);
  EXPECT_EQ(names, (std::vector<std::string>{"policy.0.weight", "policy.0.bias",
                                             "policy.head.weight", "policy.head.bias",
                                             "value.head.weight", "value.head.bias", "old.0.weight",
                                             "old.0.bias", "old.head.weight", "old.head.bias",
                                             "old_value.head.weight", "old_value.head.bias"}));
  EXPECT_THAT(
      ModelSpec::Parse(text + "network old_value follows value\nnetwork old follows policy\n")
          .status()
          .message(),
      testing::HasSubstr("\"old_value\" refers to \"value\""));
}

TEST(ModelSpec, AnyCutOfTheWholeTextIsRefused) {
  const std::string text = kWholeText;
  for (std::size_t size = 0; size + 1 < text.size(); ++size) {
    EXPECT_FALSE(ModelSpec::Parse(text.substr(0, size)).ok()) << text.substr(0, size);
  }
}

std::string WholeReplaced(std::string from, std::string to) {
  std::string text = kWholeText;
  return text.replace(text.find(from), from.size(), to);
}

TEST(ModelSpec, WhatCannotBeMadeIsRefusedInWords) {
  const auto message = [](const std::string& text) {
    return ModelSpec::Parse(text).status().message();
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(message(WholeReplaced("input speed", "input spede")), HasSubstr("no such part"));
  EXPECT_THAT(message(WholeReplaced("input speed", "input camera")), HasSubstr("twice"));
  EXPECT_THAT(message(WholeReplaced("input speed stack 1", "input kind stack 2")),
              HasSubstr("cannot be stacked"));
  EXPECT_THAT(message(WholeReplaced("stack 4", "stack 17")), HasSubstr("input NAME stack 1..16"));
  EXPECT_THAT(message(WholeReplaced("dense 8 relu", "gru 8")), HasSubstr("separate_value = false"));
  EXPECT_THAT(message(WholeReplaced("reads action\ninput camera stack 4", "input camera stack 2")),
              HasSubstr("every network sees the same frames"));
  EXPECT_THAT(message(WholeReplaced("shares policy", "shares q1")),
              HasSubstr("no network before it"));
  EXPECT_THAT(message(WholeReplaced("follows q1", "follows value")),
              HasSubstr("with layers of its own"));
  EXPECT_THAT(message(WholeReplaced("q1_target follows q1", "q1_target published follows q1")),
              HasSubstr("published and not trained"));
  EXPECT_THAT(message(WholeReplaced("q1 trained", "q1 published trained")),
              HasSubstr("out of order"));
  EXPECT_THAT(message(WholeReplaced("policy published", "policy")),
              HasSubstr("must be published and have a head for the action"));
  EXPECT_THAT(message(WholeReplaced("action.turn continuous 2 low -1 -1 high 1 1",
                                    "action.turn continuous 2")),
              HasSubstr("bounds"));
  EXPECT_THAT(message(WholeReplaced("dense 256 sigmoid", "dense 65536 none\ndense 65536 relu")),
              HasSubstr("at most 268435456"));
}

struct Row {
  const char* name;
  Section section;
  std::vector<int> shape;
  std::size_t offset, count;
};

void ExpectTensors(const ParameterLayout& layout, const std::vector<Row>& rows) {
  ASSERT_EQ(layout.tensors.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(layout.tensors[i].name, rows[i].name);
    EXPECT_EQ(layout.tensors[i].section, rows[i].section) << rows[i].name;
    EXPECT_EQ(layout.tensors[i].shape, rows[i].shape) << rows[i].name;
    EXPECT_EQ(layout.tensors[i].offset, rows[i].offset) << rows[i].name;
    EXPECT_EQ(layout.tensors[i].count, rows[i].count) << rows[i].name;
  }
}

TEST(ParameterLayout, SeparateTrunksLieAsWorkedOutByHand) {
  PolicyAndValue spec;
  spec.spaces = {Box({5}), Discrete(3)};
  spec.trunk = {{4, Activation::kTanh}};
  spec.normalize_observation = true;
  const ParameterLayout layout(spec);
  const Section p = Section::kPublished, c = Section::kLearner, s = Section::kStatistics;
  ExpectTensors(layout, {{"policy.0.weight", p, {5, 4}, 0, 20},
                         {"policy.0.bias", p, {4}, 32, 4},
                         {"policy.head.weight", p, {4, 3}, 48, 12},
                         {"policy.head.bias", p, {3}, 64, 3},
                         {"value.0.weight", c, {5, 4}, 80, 20},
                         {"value.0.bias", c, {4}, 112, 4},
                         {"value.head.weight", c, {4, 1}, 128, 4},
                         {"value.head.bias", c, {1}, 144, 1},
                         {"statistics.observation.count", s, {1}, 160, 1},
                         {"statistics.observation.mean", s, {5}, 176, 5},
                         {"statistics.observation.variance", s, {5}, 192, 5}});
  EXPECT_EQ(layout.published.offset, 0u);
  EXPECT_EQ(layout.published.count, 80u);
  EXPECT_EQ(layout.statistics.offset, 160u);
  EXPECT_EQ(layout.statistics.count, 48u);
  EXPECT_EQ(layout.total, 208u);
  EXPECT_EQ(layout.trained_count(), 160u);
  EXPECT_EQ(layout.Find("value.0.bias").offset, 112u);
}

TEST(ParameterLayout, SharedTrunkBelongsToThePolicy) {
  PolicyAndValue spec;
  spec.spaces = {Box({2, 2}), Discrete(2)};
  spec.trunk = {{16, Activation::kTanh}};
  spec.separate_value = false;
  const ParameterLayout layout(spec);
  const Section p = Section::kPublished, c = Section::kLearner;
  ExpectTensors(layout, {{"policy.0.weight", p, {4, 16}, 0, 64},
                         {"policy.0.bias", p, {16}, 64, 16},
                         {"policy.head.weight", p, {16, 2}, 80, 32},
                         {"policy.head.bias", p, {2}, 112, 2},
                         {"value.head.weight", c, {16, 1}, 128, 16},
                         {"value.head.bias", c, {1}, 144, 1}});
  EXPECT_EQ(layout.statistics.count, 0u);
  EXPECT_EQ(layout.total, 160u);
}

TEST(ParameterLayout, ATargetLiesBehindWhatIsTrainedWithTheShapesOfWhatItFollows) {
  const Result<ModelSpec> spec = ModelSpec::Parse(
      "murmurate-model 2\nobservation float32 5\naction.a discrete 3\naction.b continuous 2\n"
      "normalize_observation 0\nstate_dependent_deviation 0\nsquashed 0\nnetworks 3\n"
      "network policy published trained\ndense 4 tanh\nhead action\n"
      "network q1 trained\nreads action\ndense 6 relu\nhead 1\nnetwork old follows q1\n");
  ASSERT_TRUE(spec.ok()) << spec.status();
  const ParameterLayout layout(*spec);
  const Section p = Section::kPublished, c = Section::kLearner;
  // The action is 3 + 2 numbers beside the observation's 5.
  ExpectTensors(layout, {{"policy.0.weight", p, {5, 4}, 0, 20},
                         {"policy.0.bias", p, {4}, 32, 4},
                         {"policy.head.weight", p, {4, 5}, 48, 20},
                         {"policy.head.bias", p, {5}, 80, 5},
                         {"policy.log_deviation", p, {2}, 96, 2},
                         {"q1.0.weight", c, {10, 6}, 112, 60},
                         {"q1.0.bias", c, {6}, 176, 6},
                         {"q1.head.weight", c, {6, 1}, 192, 6},
                         {"q1.head.bias", c, {1}, 208, 1},
                         {"old.0.weight", c, {10, 6}, 224, 60},
                         {"old.0.bias", c, {6}, 288, 6},
                         {"old.head.weight", c, {6, 1}, 304, 6},
                         {"old.head.bias", c, {1}, 320, 1}});
  EXPECT_EQ(layout.published.count, 112u);
  EXPECT_EQ(layout.trained_count(), 224u);
  EXPECT_EQ(layout.total, 336u);
}

TEST(ParameterLayout, EveryKindOfLayerHasTheTensorsItsHeaderSays) {
  PolicyAndValue spec;
  spec.spaces = {Dict({{"view", Image({8, 6, 1})}, {"speed", Box({3})}}),
                 Dict({{"move", Discrete(4)}, {"turn", Box({2})}})};
  spec.encoders = {
      {"view",
       2,
       {{5, Activation::kRelu, Layer::Kind::kConv, 3, 1, 0}, {.kind = Layer::Kind::kFlatten}}},
      {"speed", 1, {{.kind = Layer::Kind::kLayerNorm}}}};
  spec.trunk = {{.units = 7, .kind = Layer::Kind::kLstm}, {.units = 2, .kind = Layer::Kind::kGru}};
  spec.separate_value = false;
  spec.normalize_observation = true;
  ASSERT_TRUE(CheckModel(spec).ok()) << CheckModel(spec);
  const ParameterLayout layout(spec);
  std::vector<std::pair<std::string, std::vector<int>>> got;
  for (const TensorSlot& tensor : layout.tensors) got.emplace_back(tensor.name, tensor.shape);
  // The view gives 6 x 4 x 5 = 120 numbers, the speed 3.
  const std::vector<std::pair<std::string, std::vector<int>>> expected = {
      {"policy.view.0.weight", {3, 3, 2, 5}},
      {"policy.view.0.bias", {5}},
      {"policy.speed.0.gain", {3}},
      {"policy.speed.0.shift", {3}},
      {"policy.0.input_weight", {123, 28}},
      {"policy.0.hidden_weight", {7, 28}},
      {"policy.0.bias", {28}},
      {"policy.1.input_weight", {7, 6}},
      {"policy.1.hidden_weight", {2, 6}},
      {"policy.1.bias", {6}},
      {"policy.1.hidden_bias", {2}},
      {"policy.head.weight", {2, 6}},
      {"policy.head.bias", {6}},
      {"policy.log_deviation", {2}},
      {"value.head.weight", {2, 1}},
      {"value.head.bias", {1}},
      {"statistics.observation.count", {1}},
      {"statistics.observation.mean", {3}},
      {"statistics.observation.variance", {3}}};
  EXPECT_EQ(got, expected);
}

TEST(ParameterLayoutDeathTest, UnknownTensorIsABrokenPromise) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(ParameterLayout(Example()).Find("policy.9.weight"), "policy.9.weight");
}

}  // namespace
}  // namespace murmurate
