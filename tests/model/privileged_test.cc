// A privileged observation: its place in the rows, and which networks and files know of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "shared/model/network_plan.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/policy_and_value.h"
#include "shared/model/row_writer.h"
#include "shared/model/weights_file.h"

namespace murmurate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

ModelSpec SpecOf(Space observation, Space privileged, PreviousInputs previous = {}) {
  return PolicyAndValue{.spaces = {std::move(observation), Discrete(3), std::move(privileged)},
                        .trunk = {{4, Activation::kTanh}},
                        .normalize_observation = true,
                        .previous = previous};
}

std::int32_t WordOf(float number) { return std::bit_cast<std::int32_t>(number); }

TEST(Privileged, ItsPartsAreTheLastOfEachKindInARow) {
  const ModelSpec spec =
      SpecOf(Dict({{"camera", Image({2, 2})}, {"place", Box({1})}}),
             Dict({{"map", Image({4, 1})}, {"enemy", Box({2})}}), {.action = true, .reward = true});
  const ObservationLayout row(spec.row_space());
  ASSERT_EQ(row.inputs().size(), 6u);
  EXPECT_EQ(row.inputs()[4].name, "privileged.map");
  EXPECT_EQ(row.inputs()[5].name, "privileged.enemy");
  const struct {
    float place = 3;
    std::uint8_t camera[4] = {1, 2, 3, 4};
  } seen;
  const struct {
    float enemy[2] = {5, 6};
    std::uint8_t map[4] = {7, 8, 9, 10};
  } privileged;
  const std::int32_t action = 1;
  const RowWriter writer(spec);
  ASSERT_TRUE(writer.any());
  ASSERT_EQ(writer.row_bytes(), 28u);
  std::int32_t words[7];
  RowWriter::Step step{.observation = std::as_bytes(std::span(&seen, 1)),
                       .privileged = std::as_bytes(std::span(&privileged, 1)),
                       .action = &action,
                       .reward = 3};
  writer.Write(step, reinterpret_cast<std::byte*>(words));
  EXPECT_THAT(words,
              ElementsAre(WordOf(3), 2, WordOf(1), WordOf(5), WordOf(6), 0x04030201, 0x0a090807));
  step.privileged = {};
  writer.Write(step, reinterpret_cast<std::byte*>(words));
  EXPECT_THAT(words, ElementsAre(WordOf(3), 2, WordOf(1), 0, 0, 0x04030201, 0));
}

TEST(Privileged, OnlyASeparateValueReadsIt) {
  const ModelSpec spec = SpecOf(Box({2}), Box({5}));
  EXPECT_EQ(PlanNetwork(spec, "policy")->joined, 2);
  EXPECT_EQ(PlanNetwork(spec, "value")->joined, 2 + 5);
  EXPECT_EQ(spec.normalized_count(), 7);
  ModelSpec wrong = spec;
  wrong.networks[0].reads_privileged = true;
  EXPECT_THAT(CheckModel(wrong).message(), HasSubstr("players have none"));
  wrong = spec;
  wrong.spaces.privileged = {};
  EXPECT_THAT(CheckModel(wrong).message(), HasSubstr("the spaces have none"));
  wrong = spec;
  wrong.networks[0].encoders.push_back({"privileged", 1, {{4, Activation::kTanh}}});
  EXPECT_THAT(CheckModel(wrong).message(), HasSubstr("which does not read it"));
}

TEST(Privileged, TheSpacesAndTheModelHaveItInTheirTexts) {
  const ModelSpec spec = SpecOf(Box({2}), Dict({{"enemy", Box({2})}, {"door", Discrete(3)}}));
  const std::string text = spec.ToText();
  EXPECT_THAT(text, HasSubstr("observation float32 2\naction discrete 3\n"
                              "privileged.enemy float32 2\nprivileged.door categories 3\n"
                              "normalize_observation 1\n"));
  EXPECT_THAT(text, HasSubstr("network value trained\nreads privileged\ndense 4 tanh\nhead 1\n"));
  const Result<ModelSpec> parsed = ModelSpec::Parse(text);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(*parsed, spec);
  EXPECT_THAT(SpecOf(Box({2}), {}).ToText(), Not(HasSubstr("privileged")));
}

TEST(Privileged, SpacesAreCheckedAndCompared) {
  const auto fault = [](Space privileged) {
    return std::string(CheckSpaces({Box({2}), Discrete(3), std::move(privileged)}).message());
  };
  EXPECT_EQ(fault({}), "");
  EXPECT_EQ(fault(Image({4, 4, 1})), "");
  EXPECT_THAT(fault(Box({2}, -1, 1)), HasSubstr("the space privileged is "));
  EXPECT_THAT(fault(Dict({{"Enemy", Box({2})}})), HasSubstr("a leaf of the privileged space"));
  const Spaces one{Box({2}), Discrete(3), Box({5})}, none{Box({2}), Discrete(3)};
  EXPECT_EQ(FirstDifference(one, none), "privileged: expected float32 5, got none");
  EXPECT_EQ(FirstDifference(none, one), "privileged: expected none, got float32 5");
  const auto refused = [](const std::string& text) {
    return std::string(Spaces::Parse(text).status().message());
  };
  EXPECT_THAT(refused("observation float32 2\nprivileged float32 2\naction discrete 3\n"),
              HasSubstr("where \"observation\" or \"observation.NAME\""));
  EXPECT_THAT(refused("observation float32 2\naction discrete 3\nprivileged discrete 3\n"),
              HasSubstr("where \"privileged\" or \"privileged.NAME\""));
  EXPECT_THAT(refused("observation float32 2\naction discrete 3\nprivileged float32 2\n"
                      "privileged float32 2\n"),
              HasSubstr("where \"privileged\" or \"privileged.NAME\""));
  EXPECT_THAT(CheckModel(SpecOf(Dict({{"privileged", Box({2})}}), Box({1}))).message(),
              HasSubstr("beside the privileged observation: rename the part"));
}

TEST(Privileged, APolicyFileHasNothingOfIt) {
  const ModelSpec spec = SpecOf(Box({2}), Box({5}));
  const ParameterLayout layout(spec);
  WeightsFile file{spec, 7, 700, AlignedFloats(layout.total)};
  for (const TensorSlot& slot : layout.tensors)
    for (std::size_t i = 0; i < slot.count; ++i)
      file.parameters[slot.offset + i] = static_cast<float>(slot.offset + i);
  const std::string text = FormatWeightsFile(file, true);
  EXPECT_THAT(text, Not(HasSubstr("privileged")));
  const auto read = ParseWeightsFile(std::as_bytes(std::span<const char>(text)));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->spec, PublishedSpec(spec));
  EXPECT_EQ(read->spec.normalized_count(), 2);
  EXPECT_EQ(read->version, 7u);
  const ParameterLayout published(read->spec);
  for (const char* name : {"policy.0.weight", "policy.head.bias", "statistics.observation.mean",
                           "statistics.observation.variance", "statistics.observation.count"}) {
    const TensorSlot &to = published.Find(name), &from = layout.Find(name);
    for (std::size_t i = 0; i < to.count; ++i)
      EXPECT_EQ(read->parameters[to.offset + i], static_cast<float>(from.offset + i)) << name;
  }
  const std::string whole = FormatWeightsFile(file, false);
  const auto again = ParseWeightsFile(std::as_bytes(std::span<const char>(whole)));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->spec, spec) << "a checkpoint keeps it";
}

}  // namespace
}  // namespace murmurate
