#include "shared/model/weights_match.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "shared/model/parameter_layout.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Numbers = std::vector<float>;

/// A file as another program could have written it: by name, its shape and numbers.
struct Tensor {
  std::vector<int> shape;
  Numbers values;
};

SafetensorsFile FileOf(const std::map<std::string, Tensor>& tensors) {
  std::vector<NamedTensor> named;
  for (const auto& [name, tensor] : tensors) named.push_back({name, tensor.shape, tensor.values});
  const std::string bytes = FormatSafetensors({}, named);
  return *ParseSafetensors(std::as_bytes(std::span<const char>(bytes)));
}

// policy.head 2 x 3 and its bias; value.head 2 x 1 and its bias; statistics of two numbers.
ModelSpec Spec() {
  PolicyAndValue spec;
  spec.spaces = {Box({2}), Discrete(3)};
  spec.normalize_observation = true;
  return spec;
}

const ParameterLayout kLayout(Spec());

Numbers After(const WeightsMatch& match) {
  Numbers parameters(kLayout.total, -1.0f);
  match.CopyTo(parameters);
  return parameters;
}

Numbers At(const Numbers& parameters, const char* name) {
  const TensorSlot& slot = kLayout.Find(name);
  return {parameters.begin() + static_cast<std::ptrdiff_t>(slot.offset),
          parameters.begin() + static_cast<std::ptrdiff_t>(slot.offset + slot.count)};
}

TEST(WeightsMatch, TakesWhatHasTheNameAndTheShape) {
  const SafetensorsFile file = FileOf({{"policy.head.weight", {{2, 3}, {1, 2, 3, 4, 5, 6}}},
                                       {"policy.head.bias", {{2}, {7, 8}}},
                                       {"value.head.bias", {{1, 1}, {9}}},
                                       {"policy.0.weight", {{1}, {10}}}});
  const auto match = MatchWeights(file, kLayout);
  ASSERT_TRUE(match.ok()) << match.status();
  EXPECT_EQ(match->tensors, 7u);
  EXPECT_EQ(match->numbers, 6u + 3 + 2 + 1 + 1 + 2 + 2);
  EXPECT_EQ(match->taken.size(), 1u);
  EXPECT_EQ(match->taken_numbers, 6u);
  EXPECT_THAT(match->missing,
              ElementsAre("value.head.weight", "statistics.observation.count",
                          "statistics.observation.mean", "statistics.observation.variance"));
  EXPECT_THAT(match->reshaped, ElementsAre("policy.head.bias (file 2, model 3)",
                                           "value.head.bias (file 1 1, model 1)"));
  EXPECT_THAT(match->unused, ElementsAre("policy.0.weight"));

  const Numbers parameters = After(*match);
  EXPECT_EQ(At(parameters, "policy.head.weight"), (Numbers{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(std::count(parameters.begin(), parameters.end(), -1.0f),
            static_cast<std::ptrdiff_t>(kLayout.total - 6))
      << "the rest stays as it was";
}

const std::map<std::string, Tensor> kStatistics = {
    {"statistics.observation.count", {{1}, {100}}},
    {"statistics.observation.mean", {{2}, {-3, 0.5}}},
    {"statistics.observation.variance", {{2}, {2, 0}}}};

TEST(WeightsMatch, TakesStatisticsAllTogether) {
  const SafetensorsFile file = FileOf(kStatistics);
  const auto match = MatchWeights(file, kLayout);
  ASSERT_TRUE(match.ok()) << match.status();
  EXPECT_EQ(match->taken.size(), 3u);
  const Numbers parameters = After(*match);
  EXPECT_EQ(At(parameters, "statistics.observation.count"), (Numbers{100}));
  EXPECT_EQ(At(parameters, "statistics.observation.mean"), (Numbers{-3, 0.5}));
  EXPECT_EQ(At(parameters, "statistics.observation.variance"), (Numbers{2, 0}));
}

TEST(WeightsMatch, ACountWithoutItsMeansIsLeftOut) {
  auto tensors = kStatistics;
  tensors["statistics.observation.mean"] = {{3}, {1, 2, 3}};
  tensors["policy.head.bias"] = {{3}, {1, 2, 3}};
  const SafetensorsFile file = FileOf(tensors);
  const auto match = MatchWeights(file, kLayout);
  ASSERT_TRUE(match.ok()) << match.status();
  EXPECT_EQ(match->taken_numbers, 3u);
  EXPECT_THAT(match->reshaped, ElementsAre("statistics.observation.mean (file 3, model 2)"));
  EXPECT_THAT(match->unused,
              ElementsAre("statistics.observation.count", "statistics.observation.variance"));
  EXPECT_THAT(At(After(*match), "statistics.observation.count"), ElementsAre(-1.0f));
}

TEST(WeightsMatch, AFileThatFitsLeavesNothingToReport) {
  auto tensors = kStatistics;
  tensors["policy.head.weight"] = {{2, 3}, Numbers(6)};
  tensors["policy.head.bias"] = {{3}, Numbers(3)};
  tensors["value.head.weight"] = {{2, 1}, Numbers(2)};
  tensors["value.head.bias"] = {{1}, Numbers(1)};
  const SafetensorsFile file = FileOf(tensors);
  const auto match = MatchWeights(file, kLayout);
  ASSERT_TRUE(match.ok()) << match.status();
  EXPECT_EQ(match->taken.size(), match->tensors);
  EXPECT_EQ(match->taken_numbers, match->numbers);
  EXPECT_THAT(match->missing, IsEmpty());
  EXPECT_THAT(match->reshaped, IsEmpty());
  EXPECT_THAT(match->unused, IsEmpty());
}

std::string Complaint(const SafetensorsFile& file) {
  const auto match = MatchWeights(file, kLayout);
  if (match.ok()) return "(it was accepted)";
  EXPECT_EQ(match.status().code(), StatusCode::kInvalidData);
  return match.status().message();
}

TEST(WeightsMatch, NothingInCommonIsRefusedWithBothSides) {
  EXPECT_EQ(Complaint(FileOf({{"a", {{2, 3}, Numbers(6)}},
                              {"b", {{}, {1}}},
                              {"policy.head.bias", {{4}, Numbers(4)}},
                              {"x", {{1}, {1}}},
                              {"y", {{1}, {1}}}})),
            "no tensor has the name and the shape of one of the model's: the file has a 2 3, b a "
            "single number, policy.head.bias 4, x 1 and 1 more, the model policy.head.weight 2 3, "
            "policy.head.bias 3, value.head.weight 2 1, value.head.bias 1 and 3 more; rename or "
            "convert its tensors, or begin without it");
  EXPECT_THAT(Complaint(FileOf({})), HasSubstr("the file has nothing, the model"));
}

TEST(WeightsMatch, NumbersThatCannotBeUsedAreRefusedByName) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(Complaint(FileOf({{"policy.head.bias", {{3}, {1, nan, 3}}}})),
            "tensor \"policy.head.bias\" holds a number that is not finite; use an earlier file");
  EXPECT_THAT(Complaint(FileOf({{"policy.head.bias", {{3}, {1, 2, 3}}}, {"x", {{1}, {nan}}}})),
              "(it was accepted)")
      << "nobody reads x";
  auto tensors = kStatistics;
  tensors["statistics.observation.variance"] = {{2}, {1, -1e-3f}};
  EXPECT_THAT(Complaint(FileOf(tensors)),
              HasSubstr("\"statistics.observation.variance\" holds a number below 0"));
}

TEST(WeightsMatch, OnlyATypeThatWouldBeReadMatters) {
  SafetensorsFile file = FileOf({{"policy.head.bias", {{3}, {1, 2, 3}}}});
  file.others = {{"counter", "I64", {}}, {"value.head.weight", "F16", {4, 1}}};
  const auto match = MatchWeights(file, kLayout);
  ASSERT_TRUE(match.ok()) << match.status();
  EXPECT_THAT(match->unused, ElementsAre("counter (I64)"));
  EXPECT_THAT(match->reshaped, ElementsAre("value.head.weight (file 4 1, model 2 1)"));
  file.others[1].shape = {2, 1};
  EXPECT_EQ(Complaint(file),
            "tensor \"value.head.weight\" has the type \"F16\" where F32 was expected; convert it "
            "to float32, or leave it out");
}

}  // namespace
}  // namespace murmurate
