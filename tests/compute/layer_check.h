// LayerTest: what the tests of convolution, pooling, normalization and recurrence share: one run
// for each kernel set, poisoned outputs, and finite differences of a reference in double.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "server/compute/layer_gradient_kernels.h"
#include "shared/core/random.h"

namespace murmurate {

/// Each set that this processor runs; a set it cannot run is skipped, not passed.
class LayerTest : public testing::TestWithParam<KernelSet> {
 protected:
  void SetUp() override {
    backward = FindKernels<LayerGradientKernels>(GetParam());
    if (backward == nullptr) GTEST_SKIP() << "this processor lacks the instructions";
    forward = backward->forward;
    ASSERT_EQ(forward->dense->set, GetParam());
  }

  const LayerKernels* forward = nullptr;
  const LayerGradientKernels* backward = nullptr;
};

inline std::string SetName(const testing::TestParamInfo<KernelSet>& test) {
  if (test.param == KernelSet::kPlain) return "Plain";
  return test.param == KernelSet::kAvx2 ? "Avx2" : "Avx512";
}

inline auto EachSet() {
  return testing::Values(KernelSet::kPlain, KernelSet::kAvx2, KernelSet::kAvx512);
}

inline std::vector<float> Normals(std::size_t count, std::uint64_t seed, float scale = 1.0f) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = scale * static_cast<float>(random.Normal());
  return values;
}

/// `count` numbers that must be overwritten, and a fence that must not.
constexpr std::size_t kFence = 16;
inline std::vector<float> Poisoned(std::size_t count) {
  return std::vector<float>(count + kFence, std::numeric_limits<float>::quiet_NaN());
}

inline std::vector<double> Doubles(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

inline double Dot(const std::vector<double>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// got[i] == expected[i] to float accuracy, and the fence behind them stands.
inline void ExpectValues(const std::vector<float>& got, const std::vector<double>& expected,
                         const std::string& what, double tolerance = 2e-5) {
  ASSERT_EQ(got.size(), expected.size() + kFence) << what;
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(got[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i])))
        << what << " [" << i << "]";
  for (std::size_t i = expected.size(); i < got.size(); ++i)
    ASSERT_TRUE(std::isnan(got[i])) << what << ": wrote behind its end";
}

/// got[i] - start is the derivative of loss with respect to x[i], by central differences; of many
/// numbers about thirty are asked.
inline void ExpectGradient(const std::function<double()>& loss, std::vector<double>* x,
                           const std::vector<float>& got, double start, const std::string& what) {
  ASSERT_GE(got.size(), x->size()) << what;
  const double step = 1e-5;
  const std::size_t stride = std::max<std::size_t>(1, x->size() / 30);
  for (std::size_t i = 0; i < x->size(); i += stride) {
    const double before = (*x)[i];
    (*x)[i] = before + step;
    const double above = loss();
    (*x)[i] = before - step;
    const double below = loss();
    (*x)[i] = before;
    const double expected = start + (above - below) / (2 * step);
    ASSERT_NEAR(got[i], expected, 5e-5 * std::max(1.0, std::abs(expected)))
        << what << " [" << i << "]";
  }
}

}  // namespace murmurate
