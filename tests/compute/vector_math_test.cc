#include "server/compute/vector_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "server/compute/gemm.h"
#include "server/compute/learner_kernels.h"
#include "shared/core/random.h"
#include "tests/compute/torch_fixture.h"

namespace murmurate {
namespace {

class VectorMathTest : public testing::TestWithParam<KernelSet> {
 protected:
  void SetUp() override {
    kernels = FindKernels<LearnerKernels>(GetParam());
    if (kernels == nullptr) GTEST_SKIP() << "this processor lacks the instructions";
  }
  const LearnerKernels* kernels = nullptr;
};

TEST_P(VectorMathTest, TheSumOfSquaresOfEveryLengthIsRight) {
  Random random(1);
  std::vector<float> values(300'000);
  for (float& value : values) value = static_cast<float>(random.Normal());
  double sum = 0;
  std::size_t next = 0;
  for (const std::size_t count : {0, 1, 3, 15, 16, 17, 63, 64, 65, 129, 300'000}) {
    for (; next < count; ++next) sum += double{values[next]} * values[next];
    EXPECT_NEAR(kernels->sum_of_squares(count, values.data()), sum, 2e-6 * sum) << count;
  }
}

TEST_P(VectorMathTest, AdamOfEveryLengthFollowsItsFormula) {
  const AdamFactors f{0.5f, 0.1f, 0.001f, 0.01f, 3.0f, 1e-5f};
  for (const std::size_t count : {1, 3, 8, 15, 16, 17, 33, 65}) {
    std::vector<float> g(count), m(count + 1, 2.0f), v(count + 1, 4.0f), p(count + 1, 1.0f);
    for (std::size_t i = 0; i < count; ++i) g[i] = static_cast<float>(i) - 7.0f;
    kernels->adam(f, count, g.data(), m.data(), v.data(), p.data());
    for (std::size_t i = 0; i < count; ++i) {
      const double x = 0.5 * g[i], first = 2 + 0.1 * (x - 2), second = 4 + 0.001 * (x * x - 4);
      const double expected = 1 - 0.01 * first / (3 * std::sqrt(second) + 1e-5);
      EXPECT_NEAR(m[i], first, 1e-6);
      EXPECT_NEAR(v[i], second, 1e-6);
      EXPECT_NEAR(p[i], expected, 1e-6);
    }
    EXPECT_EQ(m[count], 2.0f);
    EXPECT_EQ(v[count], 4.0f);
    EXPECT_EQ(p[count], 1.0f);
  }
}

TEST_P(VectorMathTest, RmsPropOfEveryLengthFollowsItsFormula) {
  const RmsPropFactors f{0.5f, 0.1f, 0.01f, 0.25f};
  for (const std::size_t count : {1, 3, 8, 15, 16, 17, 33, 65}) {
    std::vector<float> g(count), v(count + 1, 4.0f), p(count + 1, 1.0f);
    for (std::size_t i = 0; i < count; ++i) g[i] = static_cast<float>(i) - 7.0f;
    kernels->rmsprop(f, count, g.data(), v.data(), p.data());
    for (std::size_t i = 0; i < count; ++i) {
      const double x = 0.5 * g[i], square = 4 + 0.1 * (x * x - 4);
      EXPECT_NEAR(v[i], square, 1e-5);
      EXPECT_NEAR(p[i], 1 - 0.01 * x / std::sqrt(square + 0.25), 1e-6);
    }
    EXPECT_EQ(v[count], 4.0f);
    EXPECT_EQ(p[count], 1.0f);
  }
}

INSTANTIATE_TEST_SUITE_P(, VectorMathTest,
                         testing::Values(KernelSet::kPlain, KernelSet::kAvx2, KernelSet::kAvx512),
                         [](const auto& test) {
                           if (test.param == KernelSet::kPlain) return "Plain";
                           return test.param == KernelSet::kAvx2 ? "Avx2" : "Avx512";
                         });

TEST(AdamStepTest, ThreeStepsAreThoseOfTorchAdam) {
  const TorchFixture torch("adam");
  std::vector<float> parameters = torch.Floats("start");
  std::vector<float> first(parameters.size()), second(parameters.size());
  for (int t = 1; t <= 3; ++t) {
    const std::string step = std::to_string(t);
    AdamStep({.learning_rate = 1e-2f, .epsilon = 1e-5f}, t, 1.0f, torch.Floats("gradient." + step),
             first, second, parameters);
    ExpectClose(parameters, torch.Doubles("parameters." + step), 1e-7, 1e-6, "step " + step);
  }
}

TEST(NormTest, ThreeFourFive) {
  const std::vector<float> values = {3, 0, -4};
  EXPECT_FLOAT_EQ(Norm(values), 5.0f);
  EXPECT_EQ(Norm({}), 0.0f);
}

/// 515 columns are many panels and a rest.
TEST(GemmTest, SmallAndWideProductsAreThoseOfThePlainKernel) {
  struct Shape {
    int rows, columns, depth;
  };
  Random random(1);
  std::vector<float> a(515 * 70), b(515 * 70), y(515 * 70);
  for (std::vector<float>* values : {&a, &b, &y})
    for (float& value : *values) value = static_cast<float>(random.Normal());
  for (const Shape shape : {Shape{3, 5, 7}, Shape{64, 64, 64}, Shape{70, 515, 65}})
    for (const bool turned : {false, true})
      for (const Epilogue epilogue : {Epilogue::kNone, Epilogue::kTanh, Epilogue::kTanhGradient})
        for (const bool accumulate : {false, true}) {
          std::vector<float> got(shape.rows * shape.columns, 0.25f), expected = got;
          GemmCall call{.rows = shape.rows, .columns = shape.columns, .depth = shape.depth};
          call.a = a.data();
          call.a_row_stride = turned ? 1 : shape.depth;
          call.a_column_stride = turned ? shape.rows : 1;
          call.b = b.data();
          call.b_row_stride = shape.columns;
          call.c = got.data();
          call.c_row_stride = shape.columns;
          call.bias = accumulate ? nullptr : y.data();
          call.accumulate = accumulate;
          call.epilogue = epilogue;
          call.output = y.data();
          call.output_row_stride = shape.columns;
          Gemm(call);
          call.c = expected.data();
          FindKernels<DenseKernels>(KernelSet::kPlain)->gemm(call);
          for (std::size_t i = 0; i < got.size(); ++i)
            ASSERT_NEAR(got[i], expected[i], 1e-4 + 1e-5 * std::abs(expected[i]))
                << shape.columns << " columns, " << turned << " at " << i;
        }
}

}  // namespace
}  // namespace murmurate
