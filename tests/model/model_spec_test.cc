#include "shared/model/model_spec.h"

#include <gtest/gtest.h>

namespace murmurate {
namespace {

constexpr char kText[] =
    "murmurate-model 1\n"
    "observation float32 4\n"
    "action discrete 2\n"
    "dense 64 tanh\n"
    "dense 32 relu\n"
    "separate_value 1\n"
    "normalize_observation 1\n";

ModelSpec Example() {
  ModelSpec spec;
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

TEST(ModelSpec, HashIsSha256OfTheText) {  // printf '...' | sha256sum
  EXPECT_EQ(ToHex(Example().Hash()),
            "eba42dbc5faf7f47cc3c6722ef5a832f6a0b749b4e013fe901d8a6c01a63cdc8");
  EXPECT_EQ(Example().ShortHash(), 0x477faf5fbc2da4ebu);
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
       {Replaced("model 1", "model 2"), Replaced("dense 64 tanh", "dense 0 tanh"),
        Replaced("dense 64 tanh", "dense 65537 tanh"), Replaced("dense 64 tanh", "dense 064 tanh"),
        Replaced("dense 64 tanh", "conv 64 tanh"), Replaced("tanh", "sigmoid"),
        Replaced("separate_value 1", "separate_value 2"),
        Replaced("separate_value 1\n", "separate_value 1\nseparate_value 1\n"),
        Replaced("discrete 2", "discrete 5000"), Replaced("float32 4", "float32 70000"),
        std::string(kText) + "x", std::string(kText) + "\n", std::string(20'000, 'x'),
        Replaced("dense 64 tanh\n", "dense 65536 tanh\ndense 65536 tanh\n")}) {
    EXPECT_FALSE(ModelSpec::Parse(text).ok()) << text.substr(0, 200);
  }
  const Result<ModelSpec> bad = ModelSpec::Parse(Replaced("dense 64 tanh", "dense 64 sin"));
  EXPECT_NE(bad.status().message().find("\"dense 64 sin\""), std::string::npos) << bad.status();
}

TEST(ModelSpec, AtMost64Layers) {
  ModelSpec spec = Example();
  spec.trunk.assign(64, {1, Activation::kTanh});
  EXPECT_TRUE(ModelSpec::Parse(spec.ToText()).ok());
  spec.trunk.push_back({1, Activation::kTanh});
  EXPECT_FALSE(ModelSpec::Parse(spec.ToText()).ok());
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
  ModelSpec spec;
  spec.spaces = {Box({5}), Discrete(3)};
  spec.trunk = {{4, Activation::kTanh}};
  spec.normalize_observation = true;
  const ParameterLayout layout(spec);
  const Section p = Section::kPolicy, c = Section::kCritic, s = Section::kStatistics;
  ExpectTensors(layout, {{"policy.0.weight", p, {5, 4}, 0, 20},
                         {"policy.0.bias", p, {4}, 32, 4},
                         {"policy.head.weight", p, {4, 3}, 48, 12},
                         {"policy.head.bias", p, {3}, 64, 3},
                         {"critic.0.weight", c, {5, 4}, 80, 20},
                         {"critic.0.bias", c, {4}, 112, 4},
                         {"critic.head.weight", c, {4, 1}, 128, 4},
                         {"critic.head.bias", c, {1}, 144, 1},
                         {"statistics.observation.count", s, {1}, 160, 1},
                         {"statistics.observation.mean", s, {5}, 176, 5},
                         {"statistics.observation.variance", s, {5}, 192, 5}});
  EXPECT_EQ(layout.policy.offset, 0u);
  EXPECT_EQ(layout.policy.count, 80u);
  EXPECT_EQ(layout.critic.offset, 80u);
  EXPECT_EQ(layout.critic.count, 80u);
  EXPECT_EQ(layout.statistics.offset, 160u);
  EXPECT_EQ(layout.statistics.count, 48u);
  EXPECT_EQ(layout.total, 208u);
  EXPECT_EQ(layout.trained_count(), 160u);
  EXPECT_EQ(layout.Find("critic.0.bias").offset, 112u);
}

TEST(ParameterLayout, SharedTrunkBelongsToThePolicy) {
  ModelSpec spec;
  spec.spaces = {Box({2, 2}), Discrete(2)};
  spec.trunk = {{16, Activation::kTanh}};
  spec.separate_value = false;
  const ParameterLayout layout(spec);
  const Section p = Section::kPolicy, c = Section::kCritic;
  ExpectTensors(layout, {{"policy.0.weight", p, {4, 16}, 0, 64},
                         {"policy.0.bias", p, {16}, 64, 16},
                         {"policy.head.weight", p, {16, 2}, 80, 32},
                         {"policy.head.bias", p, {2}, 112, 2},
                         {"critic.head.weight", c, {16, 1}, 128, 16},
                         {"critic.head.bias", c, {1}, 144, 1}});
  EXPECT_EQ(layout.statistics.count, 0u);
  EXPECT_EQ(layout.total, 160u);
}

TEST(ParameterLayoutDeathTest, UnknownTensorIsABrokenPromise) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(ParameterLayout(Example()).Find("policy.9.weight"), "policy.9.weight");
}

}  // namespace
}  // namespace murmurate
