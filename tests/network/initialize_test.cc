#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "server/network/actor_critic.h"
#include "server/network/orthonormal.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/policy_and_value.h"
#include "tests/network/orthonormal_reference.h"

namespace murmurate {
namespace {

PolicyAndValue MakeSpec(bool normalize) {
  PolicyAndValue spec;
  spec.spaces = {Box({4}), Discrete(3)};
  spec.trunk = {{64, Activation::kTanh}, {32, Activation::kTanh}};
  spec.normalize_observation = normalize;
  return spec;
}

TEST(InitializeParametersTest, WeightsAreOrthogonalWithTheirGainAndBiasesZero) {
  const PolicyAndValue spec = MakeSpec(false);
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
    const double gain = policy_head                        ? 0.01
                        : slot.name == "value.head.weight" ? 1.0
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
  const PolicyAndValue spec = MakeSpec(true);
  const std::size_t total = ParameterLayout(spec).total;
  std::vector<float> one(total), same(total, 1.0f), other(total);
  InitializeParameters(spec, 3, one);
  InitializeParameters(spec, 3, same);
  InitializeParameters(spec, 4, other);
  EXPECT_EQ(one, same);
  EXPECT_NE(one, other);
}

TEST(InitializeParametersTest, PolicyAndCriticStartApart) {
  const PolicyAndValue spec = MakeSpec(false);
  const ParameterLayout layout(spec);
  std::vector<float> parameters(layout.total);
  InitializeParameters(spec, 3, parameters);
  EXPECT_NE(parameters[layout.Find("policy.0.weight").offset],
            parameters[layout.Find("value.0.weight").offset]);
}

ModelSpec Parse(const std::string& text) {
  Result<ModelSpec> spec = ModelSpec::Parse("murmurate-model 1\n" + text);
  EXPECT_TRUE(spec.ok()) << spec.status().message();
  return *std::move(spec);
}

ModelSpec MakePictureSpec() {
  return Parse(
      "observation float32 9 9 3\naction continuous 2\ninput - stack 1\nconv 8 3 2 0 relu\n"
      "flatten\ntrunk\nlayer_norm\nlstm 6\ngru 5\nseparate_value 0\nnormalize_observation 0\n"
      "state_dependent_deviation 0\nsquashed 0\n");
}

/// The columns [first, first + columns) of a matrix [rows][stride]: the shorter side's vectors are
/// orthogonal and have length `gain`.
void ExpectOrthogonal(const float* w, int rows, int stride, int first, int columns, double gain) {
  const bool tall = rows >= columns;
  const int count = tall ? columns : rows, length = tall ? rows : columns;
  const auto at = [&](int vector, int i) {
    return double{tall ? w[i * stride + first + vector] : w[vector * stride + first + i]};
  };
  for (int a = 0; a < count; ++a)
    for (int b = 0; b <= a; ++b) {
      double dot = 0;
      for (int i = 0; i < length; ++i) dot += at(a, i) * at(b, i);
      ASSERT_NEAR(dot, a == b ? gain * gain : 0.0, 1e-6 * gain * gain) << a << " " << b;
    }
}

TEST(InitializeParametersTest, DeviationsOfNumbersBeginAsTold) {
  const std::string start =
      "observation float32 3\naction.a discrete 2\naction.b continuous 2\naction.c continuous 1\n"
      "dense 4 tanh\nseparate_value 1\nnormalize_observation 0\n";
  Initialization how;
  how.deviation = 0.5f;
  const ModelSpec free = Parse(start + "state_dependent_deviation 0\nsquashed 0\n");
  const ParameterLayout layout(free);
  std::vector<float> block(layout.total);
  InitializeParameters(free, 3, block, how);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(block[layout.Find("policy.log_deviation").offset + i], std::log(0.5f));
  const ModelSpec dependent = Parse(start + "state_dependent_deviation 1\nsquashed 0\n");
  const ParameterLayout other(dependent);
  block.resize(other.total);
  InitializeParameters(dependent, 3, block, how);
  const float* bias = block.data() + other.Find("policy.head.bias").offset;
  // Two logits, two means and their deviations, a mean and its deviation.
  for (const int i : {0, 1, 2, 3, 6}) EXPECT_EQ(bias[i], 0.0f) << i;
  for (const int i : {4, 5, 7}) EXPECT_EQ(bias[i], std::log(0.5f)) << i;
}

TEST(InitializeParametersTest, FiltersAndEachGateAreOrthogonal) {
  const ModelSpec spec = MakePictureSpec();
  const ParameterLayout layout(spec);
  std::vector<float> block(layout.total, 5.0f);
  InitializeParameters(spec, 3, block);
  const auto find = [&](const char* name) { return block.data() + layout.Find(name).offset; };
  ExpectOrthogonal(find("policy.observation.0.weight"), 27, 8, 0, 8, std::sqrt(2.0));
  for (int gate = 0; gate < 4; ++gate) {
    ExpectOrthogonal(find("policy.1.input_weight"), 128, 24, 6 * gate, 6, 1.0);
    ExpectOrthogonal(find("policy.1.hidden_weight"), 6, 24, 6 * gate, 6, 1.0);
  }
  for (int gate = 0; gate < 3; ++gate) {
    ExpectOrthogonal(find("policy.2.input_weight"), 6, 15, 5 * gate, 5, 1.0);
    ExpectOrthogonal(find("policy.2.hidden_weight"), 5, 15, 5 * gate, 5, 1.0);
  }
}

TEST(InitializeParametersTest, ForgetGatesAndGainsStartAtOneAllElseAtZero) {
  const ModelSpec spec = MakePictureSpec();
  const ParameterLayout layout(spec);
  std::vector<float> block(layout.total, 5.0f);
  InitializeParameters(spec, 3, block);
  for (const TensorSlot& slot : layout.tensors) {
    if (slot.shape.size() > 1) continue;
    for (int i = 0; i < slot.shape[0]; ++i) {
      const bool forget = slot.name == "policy.1.bias" && i >= 6 && i < 12;
      const bool one = forget || slot.name == "policy.0.gain";
      EXPECT_EQ(block[slot.offset + i], one ? 1.0f : 0.0f) << slot.name << " " << i;
    }
  }
}

TEST(InitializeParametersTest, KeepBiasIsThatOfTheGatesThatKeepTheState) {
  const ModelSpec spec = MakePictureSpec();
  const ParameterLayout layout(spec);
  std::vector<float> block(layout.total), usual(layout.total);
  Initialization how;
  how.keep_bias = 2.5f;
  InitializeParameters(spec, 3, block, how);
  InitializeParameters(spec, 3, usual);
  for (const TensorSlot& slot : layout.tensors) {
    for (std::size_t i = 0; i < slot.count; ++i) {
      const bool f = slot.name == "policy.1.bias" && i >= 6 && i < 12;  // i f g o, of 6 units
      const bool z = slot.name == "policy.2.bias" && i >= 5 && i < 10;  // r z n, of 5 units
      EXPECT_EQ(block[slot.offset + i], f || z ? 2.5f : usual[slot.offset + i]) << slot.name << i;
    }
  }
}

TEST(InitializeParametersTest, VectorsOfDifferentBlocksAreOrthogonalToo) {
  PolicyAndValue spec;  // more than 64 vectors, and numbers of them that no block divides
  spec.spaces = {Box({131}), Discrete(2)};
  spec.trunk = {{203, Activation::kTanh}, {139, Activation::kTanh}};
  spec.separate_value = false;
  const ParameterLayout layout(spec);
  std::vector<float> block(layout.total);
  InitializeParameters(spec, 8, block);
  const auto find = [&](const char* name) { return block.data() + layout.Find(name).offset; };
  ExpectOrthogonal(find("policy.0.weight"), 131, 203, 0, 203, std::sqrt(2.0));
  ExpectOrthogonal(find("policy.1.weight"), 203, 139, 0, 139, std::sqrt(2.0));
}

/// Bit for bit those of one thread that adds one product after the other.
TEST(OrthonormalVectorsTest, EveryInstructionSetAndNumberOfThreadsGivesTheSameBits) {
  // One block and several, one span and several, vectors that fill no tile, strips of more than
  // 128, and an odd number of normals, after which one is left for the next.
  for (const auto& [count, n] :
       {std::pair{1, 1}, {7, 9}, {32, 32}, {33, 65}, {101, 103}, {130, 257}, {300, 301}}) {
    Random plain_random(3);
    const std::vector<double> plain = PlainOrthonormalVectors(count, n, plain_random);
    const double next = plain_random.Normal();
    for (const KernelSet set : {KernelSet::kPlain, KernelSet::kAvx2, KernelSet::kAvx512})
      for (const int threads : {1, 2, 3}) {
        if (!ProcessorRuns(set)) continue;
        ThreadTeam team("team", threads);
        Random random(3);
        EXPECT_EQ(OrthonormalVectors(count, n, random, team, set), plain)
            << count << " x " << n << " by " << threads;
        EXPECT_EQ(random.Normal(), next) << count << " x " << n << " by " << threads;
      }
  }
}

TEST(OrthonormalVectorsTest, GoOnWithTheNormalThatWasLeft) {
  Random plain_random(4), random(4);
  ThreadTeam team("team", 2);
  for (int i = 0; i < 3; ++i)  // 15 normals each: every second one begins with the half of a pair
    EXPECT_EQ(OrthonormalVectors(3, 5, random, team), PlainOrthonormalVectors(3, 5, plain_random));
}

/// Mean square and largest magnitude of a weight.
std::pair<double, double> Spread(const ModelSpec& spec, const Initialization& how,
                                 const std::string& name) {
  const ParameterLayout layout(spec);
  std::vector<float> block(layout.total);
  InitializeParameters(spec, 3, block, how);
  const TensorSlot& slot = layout.Find(name);
  double squares = 0, largest = 0;
  for (std::size_t i = 0; i < slot.count; ++i) {
    const double w = block[slot.offset + i];
    squares += w * w / static_cast<double>(slot.count);
    largest = std::max(largest, std::abs(w));
  }
  return {squares, largest};
}

TEST(InitializeParametersTest, XavierAndHeHaveTheVariancesOfTheirPapers) {
  PolicyAndValue spec;
  spec.spaces = {Box({120}), Discrete(80)};
  spec.trunk = {{200, Activation::kRelu}};
  const auto [xavier, limit] = Spread(spec, Initializer::kXavier, "policy.0.weight");
  EXPECT_NEAR(xavier, 2.0 / 320, 0.03 * 2.0 / 320);  // uniform in +-sqrt(6 / 320)
  EXPECT_LE(limit, std::sqrt(6.0 / 320));
  EXPECT_GT(limit, 0.99 * std::sqrt(6.0 / 320));
  const auto [he, most] = Spread(spec, Initializer::kHe, "policy.0.weight");
  EXPECT_NEAR(he, 2.0 / 120, 0.03 * 2.0 / 120);
  EXPECT_GT(most, 3.0 * std::sqrt(2.0 / 120));  // normal: no limit
  const auto [head, wide] = Spread(spec, Initializer::kHe, "policy.head.weight");
  EXPECT_NEAR(head, 1e-4 * 2.0 / 200, 0.05e-4 * 2.0 / 200);
  const auto [normal, farthest] = Spread(spec, Initializer::kNormal, "policy.0.weight");
  EXPECT_NEAR(normal, 1.0, 0.03);  // for every layer size
  EXPECT_GT(farthest, 3.0);
  Initialization labels = Initializer::kHe;
  labels.policy_gain = 1.0;
  EXPECT_NEAR(Spread(spec, labels, "policy.head.weight").first, 2.0 / 200, 0.05 * 2.0 / 200);
  // 8 filters see 27 numbers; each of them is seen by 9 x 8.
  const auto [conv, edge] =
      Spread(MakePictureSpec(), Initializer::kXavier, "policy.observation.0.weight");
  EXPECT_LE(edge, std::sqrt(6.0 / (27 + 72)));
  EXPECT_NEAR(conv, 2.0 / (27 + 72), 0.3 * 2.0 / (27 + 72));
}

class StatisticsTest : public testing::Test {
 protected:
  StatisticsTest() : spec(MakeSpec(true)), layout(spec), parameters(layout.total) {
    InitializeParameters(spec, 1, parameters);
  }
  float* At(const std::string& name) {
    return parameters.data() + layout.Find("statistics.observation." + name).offset;
  }

  PolicyAndValue spec;
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

TEST(StatisticsOfInputsTest, NumbersAreFoundAmongBytesAndCategories) {
  const ModelSpec spec = Parse(
      "observation.camera uint8 3\nobservation.place float32 2\nobservation.kind categories 4\n"
      "observation.speed float32 1\naction discrete 2\nseparate_value 1\n"
      "normalize_observation 1\n");
  // A row: place 2, kind 1, speed 1, camera 3 bytes and 1 of padding.
  const std::vector<float> rows = {1, 10, 9e9f, 5, 9e9f, 3, 30, 9e9f, 7, 9e9f};
  const ParameterLayout layout(spec);
  std::vector<float> block(layout.total);
  InitializeParameters(spec, 1, block);
  UpdateObservationStatistics(spec, rows.data(), std::vector<float>{1, 1}, block);
  const float* const mean = block.data() + layout.Find("statistics.observation.mean").offset;
  const float* const variance =
      block.data() + layout.Find("statistics.observation.variance").offset;
  EXPECT_EQ(std::vector<float>(mean, mean + 3), (std::vector<float>{2, 20, 6}));
  EXPECT_EQ(std::vector<float>(variance, variance + 3), (std::vector<float>{1, 100, 1}));
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
  const PolicyAndValue plain = MakeSpec(false);
  std::vector<float> block(ParameterLayout(plain).total, 1.0f);
  const std::vector<float> before = block;
  UpdateObservationStatistics(plain, std::vector<float>(4, 5.0f).data(), std::vector<float>{1},
                              block);
  EXPECT_EQ(block, before);
}

TEST(ObservationStatistics, AnEnormousNumberLeavesThemFinite) {
  PolicyAndValue spec;
  spec.spaces = {Box({2}), Discrete(2)};
  spec.normalize_observation = true;
  const ParameterLayout layout(spec);
  std::vector<float> block(layout.total);
  InitializeParameters(spec, 1, block);
  const float most = std::numeric_limits<float>::max();
  const std::vector<float> rows = {most, 1, -most, 2, 3, 4};
  UpdateObservationStatistics(spec, rows.data(), std::vector<float>{1, 1, 1}, block);
  const float* variance = &block[layout.Find("statistics.observation.variance").offset];
  EXPECT_TRUE(std::isfinite(variance[0])) << variance[0];
  EXPECT_GT(variance[0], 1e35f);
  // 1, 2 and 4: the squares of their distances from 7/3 sum to 14/3
  EXPECT_NEAR(variance[1], 14.0 / 9, 1e-6);
}

}  // namespace
}  // namespace murmurate
