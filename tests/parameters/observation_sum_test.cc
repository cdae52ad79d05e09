#include "server/parameters/observation_sum.h"

#include <gtest/gtest.h>

#include "shared/model/parameter_layout.h"

namespace murmurate {
namespace {

// Of 1, 2, 3 and of 5, 7, 9, 11: together 7 numbers, mean 38/7, and sum of squares 290, so
// variance 290/7 - (38/7)^2.
TEST(SumObservations, IsThatOfAllNumbersTogether) {
  const auto spec = ModelSpec::Parse(
      "murmurate-model 1\nobservation float32 1\naction discrete 2\ndense 4 tanh\n"
      "separate_value 1\nnormalize_observation 1\n");
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  const ParameterLayout layout(*spec);
  const std::size_t size = layout.statistics.count, origin = layout.statistics.offset;
  const std::size_t count = layout.Find("statistics.observation.count").offset - origin;
  const std::size_t mean = layout.Find("statistics.observation.mean").offset - origin;
  const std::size_t variance = layout.Find("statistics.observation.variance").offset - origin;
  const auto part = [&](float n, float m, float v) {
    std::vector<float> values(size, 0.0f);
    values[count] = n;
    values[mean] = m;
    values[variance] = v;
    return values;
  };
  const std::vector<float> a = part(3, 2, 2.0f / 3), b = part(4, 8, 5), nothing = part(0, 0, 1);
  std::vector<float> sum(size);
  const std::span<const float> parts[] = {a, nothing, b};
  SumObservations(layout, parts, sum);
  EXPECT_EQ(sum[count], 7.0f);
  EXPECT_FLOAT_EQ(sum[mean], 38.0f / 7);
  EXPECT_FLOAT_EQ(sum[variance], static_cast<float>(290.0 / 7 - (38.0 / 7) * (38.0 / 7)));
  SumObservations(layout, {}, sum);
  EXPECT_EQ(sum[count], 0.0f);
  EXPECT_EQ(sum[variance], 1.0f);
}

}  // namespace
}  // namespace murmurate
