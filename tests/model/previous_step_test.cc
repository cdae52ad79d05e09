#include "shared/model/previous_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "shared/model/network_plan.h"
#include "shared/model/policy_and_value.h"
#include "shared/model/row_writer.h"

namespace murmurate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr PreviousInputs kBoth{.action = true, .reward = true};

ModelSpec SpecOf(Space observation, Space action, PreviousInputs previous = kBoth) {
  return PolicyAndValue{.spaces = {std::move(observation), std::move(action)},
                        .trunk = {{4, Activation::kTanh}},
                        .previous = previous};
}

/// The 32-bit words of a row.
std::vector<std::int32_t> WordsOf(const std::vector<std::byte>& row) {
  std::vector<std::int32_t> words(row.size() / 4);
  std::memcpy(words.data(), row.data(), row.size());
  return words;
}

std::int32_t WordOf(float number) { return std::bit_cast<std::int32_t>(number); }

std::vector<std::int32_t> Written(const ModelSpec& spec, std::span<const std::byte> observation,
                                  const std::int32_t* action, float reward) {
  const RowWriter writer(spec);
  std::vector<std::byte> row(writer.row_bytes(), std::byte{0x5a});
  writer.Write({.observation = observation, .action = action, .reward = reward}, row.data());
  return WordsOf(row);
}

TEST(PreviousStep, PartsLieBehindTheNumbersOfTheGameAndTheGamesSpacesStay) {
  const ModelSpec spec = SpecOf(Box({2}), Discrete(3));
  EXPECT_EQ(spec.spaces.observation, Box({2}));
  const ObservationLayout row(spec.row_space());
  ASSERT_EQ(row.inputs().size(), 3u);
  EXPECT_EQ(row.inputs()[0].name, "");
  EXPECT_EQ(row.inputs()[1].name, "previous_action");
  EXPECT_EQ(row.inputs()[1].categories, std::vector<int>{4});
  EXPECT_EQ(row.inputs()[2].name, "previous_reward");
  const float seen[] = {0.25f, -7};
  const std::int32_t action = 2;
  const std::span<const std::byte> bytes = std::as_bytes(std::span(seen));
  EXPECT_THAT(Written(spec, bytes, &action, 8),
              ElementsAre(WordOf(0.25f), WordOf(-7), 3, WordOf(2)));
  EXPECT_THAT(Written(spec, bytes, nullptr, 8), ElementsAre(WordOf(0.25f), WordOf(-7), 0, 0));
}

TEST(PreviousStep, BytesOfTheGameStayLast) {
  const ModelSpec spec = SpecOf(Dict({{"camera", Image({2, 2})}, {"place", Box({1})}}), Discrete(5),
                                {.action = false, .reward = true});
  struct {
    float place = 3;
    std::uint8_t camera[4] = {1, 2, 3, 4};
  } seen;
  const std::int32_t action = 4;
  const std::vector<std::int32_t> words =
      Written(spec, std::as_bytes(std::span(&seen, 1)), &action, -3);
  EXPECT_THAT(words, ElementsAre(WordOf(3), WordOf(-1), 0x04030201));
  const ObservationLayout row(spec.row_space());
  EXPECT_EQ(row.inputs()[0].offset_bytes, 8u);
}

TEST(PreviousStep, EveryKindOfActionHasItsPart) {
  const ModelSpec spec = SpecOf(Box({1}),
                                Dict({{"weapon", MultiDiscrete({3, 5})},
                                      {"buttons", MultiBinary(2)},
                                      {"turn", Box({2}, {0, -1}, {100, 1})},
                                      {"push", Box({1})}}),
                                {.action = true, .reward = false});
  const ObservationLayout row(spec.row_space());
  ASSERT_EQ(row.inputs().size(), 5u);
  EXPECT_EQ(row.inputs()[1].name, "previous_action.weapon");
  EXPECT_THAT(row.inputs()[1].categories, ElementsAre(4, 6));
  EXPECT_THAT(row.inputs()[2].categories, ElementsAre(3, 3));
  EXPECT_EQ(row.inputs()[4].name, "previous_action.push");
  const float seen = 1;
  const std::int32_t action[] = {2, 4, 0, 1, WordOf(25), WordOf(1), WordOf(-300)};
  const std::vector<std::int32_t> words =
      Written(spec, std::as_bytes(std::span(&seen, 1)), action, 0);
  EXPECT_THAT(words, ElementsAre(WordOf(1), 3, 5, 1, 2, WordOf(-0.5f), WordOf(1), WordOf(-300)));
  EXPECT_TRUE(CheckModel(spec).ok()) << CheckModel(spec);
}

TEST(PreviousStep, NoRewardMakesALargeNumber) {
  EXPECT_EQ(ReducedReward(0), 0.0f);
  EXPECT_EQ(ReducedReward(3), 1.0f);
  EXPECT_EQ(ReducedReward(-3), -1.0f);
  EXPECT_NEAR(ReducedReward(1e-6f), 5e-7f, 1e-12);
  EXPECT_NEAR(ReducedReward(-3e38f), -1.7320508e19f, 1e13f);
}

TEST(PreviousStep, TheModelsTextHasALineOfWhatIsReadAndOthersHaveNone) {
  const Space observation = Box({2}), action = Discrete(3);
  for (const auto& [previous, line] : {std::pair{PreviousInputs{}, ""},
                                       {{true, false}, "previous action\n"},
                                       {{false, true}, "previous reward\n"},
                                       {kBoth, "previous action reward\n"}}) {
    const ModelSpec spec = SpecOf(observation, action, previous);
    EXPECT_THAT(spec.ToText(),
                HasSubstr("normalize_observation 0\n" + std::string(line) + "networks 2\n"));
    const Result<ModelSpec> parsed = ModelSpec::Parse(spec.ToText());
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(*parsed, spec);
  }
  std::string text = SpecOf(observation, action).ToText();
  text.replace(text.find("previous action reward"), 22, "previous reward action");
  // A client that does not know the line refuses it in the same words.
  EXPECT_THAT(ModelSpec::Parse(text).status().message(),
              HasSubstr("\"previous reward action\" where \"networks 1..16\" was expected: it was "
                        "made by another version"));
}

TEST(PreviousStep, NetworksReadThePartsAndNumbersAreNormalized) {
  ModelSpec spec = SpecOf(Box({2}), Discrete(3));
  EXPECT_EQ(PlanNetwork(spec, "policy")->joined, 2 + 4 + 1);
  EXPECT_EQ(PlanNetwork(spec, "value")->joined, 2 + 4 + 1);
  spec.normalize_observation = true;
  EXPECT_EQ(spec.normalized_count(), 2 + 1) << "a category is none";
}

TEST(PreviousStep, APartOfTheGameWithTheSameNameIsRefused) {
  const Space observation = Dict({{"previous_reward", Box({1})}, {"place", Box({2})}});
  EXPECT_TRUE(CheckModel(SpecOf(observation, Discrete(2), {.action = true})).ok());
  EXPECT_THAT(CheckModel(SpecOf(observation, Discrete(2))).message(),
              HasSubstr("a part \"previous_reward\" of its own"));
}

}  // namespace
}  // namespace murmurate
