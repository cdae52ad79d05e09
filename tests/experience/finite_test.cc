#include "shared/trajectory/finite.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "shared/core/aligned_floats.h"

namespace murmurate {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr std::size_t kCount = 67;  // four lines of 16 floats and a rest

AlignedFloats Numbers() {
  AlignedFloats numbers(kCount);
  const float samples[] = {0.0f,
                           -0.0f,
                           std::numeric_limits<float>::max(),
                           std::numeric_limits<float>::lowest(),
                           std::numeric_limits<float>::denorm_min(),
                           -1.5f};
  for (std::size_t i = 0; i < kCount; ++i) numbers[i] = samples[i % std::size(samples)];
  return numbers;
}

class CopyFiniteTest : public testing::TestWithParam<std::tuple<CopyKind, std::size_t>> {
 protected:
  bool Copy(std::span<const float> source) {
    const auto [kind, offset] = GetParam();
    return CopyFinite(copy_.data() + offset, source, kind);
  }
  float copied(std::size_t i) const { return copy_[std::get<1>(GetParam()) + i]; }

 private:
  AlignedFloats copy_ = AlignedFloats(kCount + 16);
};

TEST_P(CopyFiniteTest, CopiesEveryLength) {
  const AlignedFloats numbers = Numbers();
  for (std::size_t count = 0; count <= kCount; ++count) {
    const std::span<const float> source = std::span<const float>(numbers).first(count);
    EXPECT_TRUE(Copy(source)) << count;
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(copied(i), source[i]) << i << " of " << count;
  }
}

TEST_P(CopyFiniteTest, SeesOneBadNumberWhereverItIs) {
  AlignedFloats numbers = Numbers();
  for (std::size_t place = 0; place < kCount; ++place) {
    const float good = numbers[place];
    for (const float bad : {kInfinity, -kInfinity, kNan, -kNan}) {
      numbers[place] = bad;
      EXPECT_FALSE(AllFinite(numbers)) << place;
      EXPECT_FALSE(Copy(numbers)) << place;
    }
    numbers[place] = good;
  }
  EXPECT_TRUE(AllFinite(numbers));
}

INSTANTIATE_TEST_SUITE_P(Kinds, CopyFiniteTest,
                         testing::Combine(testing::Values(CopyKind::kOrdinary,
                                                          CopyKind::kPastCache),
                                          testing::Values(0, 1, 4)));

}  // namespace
}  // namespace murmurate
