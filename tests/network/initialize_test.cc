#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "shared/network/actor_critic.h"

namespace murmurate {
namespace {

ModelSpec MakeSpec(bool normalize) {
  ModelSpec spec;
  spec.spaces = {Box({4}), Discrete(3)};
  spec.trunk = {{64, Activation::kTanh}, {32, Activation::kTanh}};
  spec.normalize_observation = normalize;
  return spec;
}

TEST(InitializeParametersTest, WeightsAreOrthogonalWithTheirGainAndBiasesZero) {
  const ModelSpec spec = MakeSpec(false);
  const ParameterLayout layout(spec);
  std::vector<float> parameters(layout.total, 5.0f);
  InitializeParameters(spec, 3, parameters);
  for (const TensorSlot& slot : layout.tensors) {
    const float* w = parameters.data() + slot.offset;
    if (slot.shape.size() == 1) {
      for (std::size_t i = 0; i < slot.count; ++i) EXPECT_EQ(w[i], 0.0f) << slot.name;
      continue;
    }
    const bool policy_head = slot.name == "policy.head.weight";
    const double gain = policy_head                         ? 0.01
                        : slot.name == "critic.head.weight" ? 1.0
                                                            : std::sqrt(2.0);
    const int in = slot.shape[0], out = slot.shape[1];
    const bool tall = in >= out;  // then the columns are orthogonal, else the rows
    const int count = tall ? out : in, length = tall ? in : out;
    for (int a = 0; a < count; ++a)
      for (int b = 0; b <= a; ++b) {
        double dot = 0;
        for (int i = 0; i < length; ++i)
          dot += tall ? double{w[i * out + a]} * w[i * out + b]
                      : double{w[a * out + i]} * w[b * out + i];
        EXPECT_NEAR(dot, a == b ? gain * gain : 0.0, 1e-6 * gain * gain) << slot.name;
      }
  }
}

TEST(InitializeParametersTest, ASeedGivesTheSameNumbersAndAnotherSeedOthers) {
  const ModelSpec spec = MakeSpec(true);
  const std::size_t total = ParameterLayout(spec).total;
  std::vector<float> one(total), same(total, 1.0f), other(total);
  InitializeParameters(spec, 3, one);
  InitializeParameters(spec, 3, same);
  InitializeParameters(spec, 4, other);
  EXPECT_EQ(one, same);
  EXPECT_NE(one, other);
}

TEST(InitializeParametersTest, PolicyAndCriticStartApart) {
  const ModelSpec spec = MakeSpec(false);
  const ParameterLayout layout(spec);
  std::vector<float> parameters(layout.total);
  InitializeParameters(spec, 3, parameters);
  EXPECT_NE(parameters[layout.Find("policy.0.weight").offset],
            parameters[layout.Find("critic.0.weight").offset]);
}

class StatisticsTest : public testing::Test {
 protected:
  StatisticsTest() : spec(MakeSpec(true)), layout(spec), parameters(layout.total) {
    InitializeParameters(spec, 1, parameters);
  }
  float* At(const std::string& name) {
    return parameters.data() + layout.Find("statistics.observation." + name).offset;
  }

  ModelSpec spec;
  ParameterLayout layout;
  std::vector<float> parameters;
};

TEST_F(StatisticsTest, StartAtCountZeroMeanZeroVarianceOne) {
  EXPECT_EQ(*At("count"), 0.0f);
  for (int j = 0; j < 4; ++j) {
    EXPECT_EQ(At("mean")[j], 0.0f);
    EXPECT_EQ(At("variance")[j], 1.0f);
  }
}

TEST_F(StatisticsTest, MergedChunksAreTheStatisticsOfAllRows) {
  // numpy.mean and numpy.var (ddof 0) of column 0: [1, 2, 3, 4, 10] -> 4, 10; column 1: 7 -> 7, 0
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> first = {1, 7, 0, 0, nan, nan, nan, nan, 2, 7, 0, 0};
  const std::vector<float> second = {3, 7, 0, 0, 4, 7, 0, 0, 10, 7, 0, 0};
  UpdateObservationStatistics(spec, first.data(), std::vector<float>{1, 0, 1}, parameters);
  EXPECT_FLOAT_EQ(*At("count"), 2.0f);
  EXPECT_FLOAT_EQ(At("mean")[0], 1.5f);
  EXPECT_FLOAT_EQ(At("variance")[0], 0.25f);
  UpdateObservationStatistics(spec, second.data(), std::vector<float>{1, 1, 1}, parameters);
  EXPECT_FLOAT_EQ(*At("count"), 5.0f);
  EXPECT_FLOAT_EQ(At("mean")[0], 4.0f);
  EXPECT_FLOAT_EQ(At("variance")[0], 10.0f);
  EXPECT_FLOAT_EQ(At("mean")[1], 7.0f);
  EXPECT_FLOAT_EQ(At("variance")[1], 0.0f);
}

TEST_F(StatisticsTest, PaddingAloneChangesNothing) {
  const std::vector<float> before = parameters;
  UpdateObservationStatistics(spec, std::vector<float>(8, 5.0f).data(), std::vector<float>{0, 0},
                              parameters);
  EXPECT_EQ(parameters, before);
}

TEST_F(StatisticsTest, TheCountStopsWhereFloatsCountNoFurther) {
  *At("count") = 0x1p24f;
  UpdateObservationStatistics(spec, std::vector<float>(4, 5.0f).data(), std::vector<float>{1},
                              parameters);
  EXPECT_EQ(*At("count"), 0x1p24f);
  EXPECT_GT(At("mean")[0], 0.0f);
}

TEST_F(StatisticsTest, WithoutNormalizationThereIsNothingToUpdate) {
  const ModelSpec plain = MakeSpec(false);
  std::vector<float> block(ParameterLayout(plain).total, 1.0f);
  const std::vector<float> before = block;
  UpdateObservationStatistics(plain, std::vector<float>(4, 5.0f).data(), std::vector<float>{1},
                              block);
  EXPECT_EQ(block, before);
}

}  // namespace
}  // namespace murmurate
