#include "server/exchange/foreign_tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/inference/policy.h"
#include "shared/model/weights_match.h"
#include "tests/exchange/export_cases.h"
#include "tests/source_file.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;

/// The module of scripts/make_torch_import_fixtures.py.
constexpr char kActor[] =
    "observation float32 6 6 2\naction discrete 3\nnormalize_observation 0\nnetworks 1\n"
    "network policy published trained\ninput - stack 1\nconv 3 3 1 0 relu\nconv 4 2 2 0 tanh\n"
    "flatten\ntrunk\nlayer_norm\nresidual\ndense 16 tanh\nadd\nlstm 5\ngru 6\nhead action\n";
constexpr char kNames[] =
    "\"policy.observation.0\" = \"actor.conv1\"\n\"policy.observation.1\" = \"actor.conv2\"\n"
    "\"policy.0\" = \"actor.norm\"\n\"policy.2\" = \"actor.fc1\"\n\"policy.4\" = \"actor.lstm\"\n"
    "\"policy.5\" = \"actor.gru\"\n\"policy.head\" = \"actor.out\"\n";

SafetensorsFile Fixture() {
  const std::string bytes =
      *ReadFile(SourceFile("tests/fixtures/torch_import.safetensors"), 1 << 20);
  return *ParseSafetensors(std::as_bytes(std::span<const char>(bytes)));
}

ModelSpec ActorSpec() { return RandomModel(kActor, 1).spec; }

std::string Refused(const std::string& names) {
  const auto map = NameMap::Parse(names);
  EXPECT_TRUE(map.ok()) << map.status();
  const auto ours = InOurLayout(Fixture(), ActorSpec(), TensorLayout::kPytorch, *map);
  return ours.ok() ? "it was taken" : ours.status().message();
}

TEST(ForeignTensors, AModuleOfPyTorchComputesTheSameHere) {
  const ModelSpec spec = ActorSpec();
  const SafetensorsFile theirs = Fixture();
  const auto ours = InOurLayout(theirs, spec, TensorLayout::kPytorch, *NameMap::Parse(kNames));
  ASSERT_TRUE(ours.ok()) << ours.status();
  const ParameterLayout layout(spec);
  const auto match = MatchWeights(*ours, layout);
  ASSERT_TRUE(match.ok()) << match.status();
  EXPECT_THAT(match->missing, ::testing::IsEmpty());
  EXPECT_THAT(match->unused, ::testing::ElementsAre("test.outputs", "test.pictures"));
  std::vector<float> parameters(layout.total);
  match->CopyTo(parameters);
  Policy policy(spec);
  policy.Pack(std::span(parameters).first(layout.published.count), {});
  const NamedTensor &pictures = *theirs.Find("test.pictures"),
                    &expected = *theirs.Find("test.outputs");
  const int steps = pictures.shape[0], batch = pictures.shape[1];
  std::vector<float> states(static_cast<std::size_t>(batch * policy.state_floats()));
  std::vector<float> scratch(policy.ScratchFloats(batch));
  std::vector<float> outputs(static_cast<std::size_t>(batch) * 3);
  for (int step = 0; step < steps; ++step) {
    policy.Forward(pictures.values.data() + step * batch * 72, batch, outputs.data(),
                   scratch.data(), states.data());
    for (std::size_t i = 0; i < outputs.size(); ++i)
      EXPECT_NEAR(outputs[i], expected.values[static_cast<std::size_t>(step) * outputs.size() + i],
                  1e-5)
          << step << " " << i;
  }
}

TEST(ForeignTensors, ALineThatFitsNothingIsNamed) {
  EXPECT_EQ(Refused("\n\"policy.9\" = \"actor.fc1\"\n"),
            "line 2: the model has no tensor \"policy.9\"; it has policy.observation.0.weight, "
            "policy.observation.0.bias, policy.observation.1.weight, policy.observation.1.bias, "
            "policy.0.weight, policy.0.bias and 12 more");
  EXPECT_THAT(Refused("\"policy.2\" = \"actor.fc7\"\n"),
              HasSubstr("line 1: the file has no tensor \"actor.fc7\"; it has actor."));
  EXPECT_EQ(
      Refused("\"policy.2\" = \"actor.out\"\n"),
      "line 1: \"actor.out.weight\" has the shape [3,6] where \"policy.2.weight\" has [16,16]; "
      "give [model] layers its sizes, or map another tensor");
}

TEST(ForeignTensors, OtherTypesAreRefused) {
  SafetensorsFile theirs;
  theirs.others.push_back({"actor.fc1.weight", "BF16", {16, 16}});
  const auto ours = InOurLayout(theirs, ActorSpec(), TensorLayout::kPytorch,
                                *NameMap::Parse("\"policy.2\" = \"actor.fc1\""));
  EXPECT_EQ(
      ours.status().message(),
      "tensor \"actor.fc1.weight\" has the type \"BF16\" where F32 was expected; convert it to "
      "float32, or leave it out");
}

// A square weight that is not turned fits, so a shape alone must never take one.
TEST(ForeignTensors, ATensorOfAnotherShapeIsNotTaken) {
  const std::vector<float> numbers(32);
  SafetensorsFile theirs;
  theirs.tensors.push_back({"policy.head.weight", {6, 3}, std::span(numbers).first(18)});
  theirs.tensors.push_back({"policy.head.bias", {3}, std::span(numbers).first(3)});
  const auto ours = InOurLayout(theirs, ActorSpec(), TensorLayout::kPytorch, {});
  ASSERT_TRUE(ours.ok()) << ours.status();
  const auto match = MatchWeights(*ours, ParameterLayout(ActorSpec()));
  ASSERT_TRUE(match.ok()) << match.status();
  EXPECT_EQ(match->taken.size(), 1u);
  EXPECT_THAT(match->unused, ::testing::ElementsAre("policy.head.weight [6,3]"));
}

TEST(ForeignTensors, OurOwnLayoutIsOnlyRenamed) {
  const ModelSpec spec = ActorSpec();
  std::vector<float> numbers(18);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  SafetensorsFile theirs;
  theirs.tensors.push_back({"dense/kernel", {6, 3}, numbers});
  const auto ours = InOurLayout(theirs, spec, TensorLayout::kMurmurate,
                                *NameMap::Parse("\"policy.head.weight\" = \"dense/kernel\""));
  ASSERT_TRUE(ours.ok()) << ours.status();
  const NamedTensor* const head = ours->Find("policy.head.weight");
  ASSERT_NE(head, nullptr);
  EXPECT_TRUE(std::ranges::equal(head->values, numbers));
}

TEST(ForeignTensors, TheLayoutIsThatOfTheFileUnlessItIsSaid) {
  SafetensorsFile file;
  EXPECT_EQ(LayoutOf(file, TensorLayout::kAuto), TensorLayout::kMurmurate);
  EXPECT_EQ(LayoutOf(file, TensorLayout::kPytorch), TensorLayout::kPytorch);
  file.metadata["murmurate.layout"] = "pytorch";
  EXPECT_EQ(LayoutOf(file, TensorLayout::kAuto), TensorLayout::kPytorch);
  EXPECT_EQ(LayoutOf(file, TensorLayout::kMurmurate), TensorLayout::kMurmurate);
}

}  // namespace
}  // namespace murmurate
