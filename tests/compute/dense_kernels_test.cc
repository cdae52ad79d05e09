#include "shared/compute/dense_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "shared/core/random.h"

namespace murmurate {
namespace {

std::vector<float> Normals(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.Normal());
  return values;
}

/// The definition, in double.
double Expected(const GemmCall& call, int i, int j, double before) {
  double sum = (call.accumulate ? before : 0.0) + (call.bias ? call.bias[j] : 0.0);
  for (int k = 0; k < call.depth; ++k)
    sum += double{call.a[i * call.a_row_stride + k * call.a_column_stride]} *
           (call.b ? call.b[k * call.b_row_stride + j] : call.b_transposed[j * call.depth + k]);
  const double y = call.output ? call.output[i * call.output_row_stride + j] : 0.0;
  if (call.epilogue == Epilogue::kTanh) return std::tanh(sum);
  if (call.epilogue == Epilogue::kRelu) return std::max(sum, 0.0);
  if (call.epilogue == Epilogue::kElu) return sum > 0 ? sum : std::expm1(sum);
  if (call.epilogue == Epilogue::kSigmoid) return 1 / (1 + std::exp(-sum));
  if (call.epilogue == Epilogue::kEluGradient) return y > 0 ? sum : sum * (y + 1);
  if (call.epilogue == Epilogue::kSigmoidGradient) return sum * y * (1 - y);
  if (call.epilogue == Epilogue::kTanhGradient) return sum * (1 - y * y);
  if (call.epilogue == Epilogue::kReluGradient) return y > 0 ? sum : 0.0;
  return sum;
}

/// Each set that this processor runs; a set it cannot run is skipped, not passed.
class DenseKernelsTest : public testing::TestWithParam<KernelSet> {
 protected:
  void SetUp() override {
    kernels = FindKernels<DenseKernels>(GetParam());
    if (kernels == nullptr) GTEST_SKIP() << "this processor lacks the instructions";
  }

  /// Runs one product with C inside a frame that must stay untouched.
  void Check(GemmCall call) {
    const std::ptrdiff_t stride = call.columns + 3;
    std::vector<float> before = Normals(stride * (call.rows + 2), 4);
    std::vector<float> c = before;
    const std::ptrdiff_t corner = stride + 1;
    call.c = c.data() + corner;
    call.c_row_stride = stride;
    kernels->gemm(call);
    for (std::size_t at = 0; at < c.size(); ++at) {
      const std::ptrdiff_t from_corner = static_cast<std::ptrdiff_t>(at) - corner;
      const int i = from_corner < 0 ? -1 : static_cast<int>(from_corner / stride);
      const int j = static_cast<int>(from_corner - i * stride);
      if (i < 0 || i >= call.rows || j >= call.columns) {
        ASSERT_EQ(c[at], before[at]) << "wrote outside C at " << i << ", " << j;
        continue;
      }
      ASSERT_NEAR(c[at], Expected(call, i, j, before[at]), 2e-5 * std::sqrt(call.depth + 1.0))
          << call.rows << "x" << call.columns << "x" << call.depth << " at " << i << ", " << j;
    }
  }

  const DenseKernels* kernels = nullptr;
};

constexpr int kSizes[] = {1, 2, 3, 5, 8, 17, 33, 65};

TEST_P(DenseKernelsTest, ProductsOfAllSizesAreRight) {
  const std::vector<float> a = Normals(65 * 65, 1), b = Normals(65 * 65, 2), bias = Normals(65, 3);
  for (const int rows : kSizes)
    for (const int columns : kSizes)
      for (const int depth : kSizes) {
        GemmCall call{.rows = rows, .columns = columns, .depth = depth};
        call.a = a.data();
        call.a_row_stride = depth;
        call.b = b.data();
        call.b_row_stride = columns;
        call.bias = bias.data();
        Check(call);
        call.bias = nullptr;
        call.accumulate = true;
        call.a_row_stride = 1;  // A is the transposed view of [depth][rows]
        call.a_column_stride = rows;
        Check(call);
      }
}

TEST_P(DenseKernelsTest, EachEpilogueIsAppliedAfterTheSum) {
  const std::vector<float> a = Normals(33 * 70, 1), b = Normals(70 * 70, 2), bias = Normals(70, 3);
  const std::vector<float> output = Normals(33 * 72, 5);
  for (const Epilogue epilogue :
       {Epilogue::kNone, Epilogue::kTanh, Epilogue::kRelu, Epilogue::kElu, Epilogue::kSigmoid,
        Epilogue::kTanhGradient, Epilogue::kReluGradient, Epilogue::kEluGradient,
        Epilogue::kSigmoidGradient})
    for (const int columns : {1, 2, 19, 64, 70}) {
      GemmCall call{.rows = 33, .columns = columns, .depth = 40, .a = a.data(), .a_row_stride = 41};
      call.b = b.data();
      call.b_row_stride = 70;
      call.bias = bias.data();
      call.epilogue = epilogue;
      call.output = output.data();
      call.output_row_stride = 72;
      Check(call);
      call.accumulate = true;
      Check(call);
    }
}

TEST_P(DenseKernelsTest, AnyStridesOfAAreRead) {
  const std::vector<float> a = Normals(100 * 100, 1), b = Normals(50 * 50, 2);
  for (const int columns : {1, 3, 4, 5, 50}) {
    GemmCall call{.rows = 13, .columns = columns, .depth = 31, .a = a.data()};
    call.a_row_stride = 2;
    call.a_column_stride = 100;
    call.b = b.data();
    call.b_row_stride = 50;
    Check(call);
  }
}

TEST_P(DenseKernelsTest, APackedTransposeOfBGivesTheSameProduct) {
  const std::vector<float> a = Normals(9 * 70, 1), b = Normals(7 * 70, 2), bias = Normals(7, 3);
  for (const int rows : {1, 4, 9})
    for (const int columns : {1, 2, 7})
      for (const int depth : {1, 16, 64, 70}) {
        GemmCall call{.rows = rows, .columns = columns, .depth = depth, .a = a.data()};
        call.a_row_stride = depth;
        call.b_transposed = b.data();
        call.bias = bias.data();
        Check(call);
      }
}

TEST_P(DenseKernelsTest, LargeTransposedProductsAreRightInEveryBlock) {
  // Two blocks of depth, nine of rows, the last ones neither whole nor of whole tiles.
  const int rows = 773, columns = 259, depth = 261;
  const std::vector<float> a = Normals(rows * depth, 1), b = Normals(columns * depth, 2);
  const std::vector<float> bias = Normals(columns, 3), output = Normals(rows * columns, 5);
  GemmCall call{.rows = rows, .columns = columns, .depth = depth, .a = a.data()};
  call.a_row_stride = 1;
  call.a_column_stride = rows;
  call.b = b.data();
  call.b_row_stride = columns;
  call.bias = bias.data();
  call.output = output.data();
  call.output_row_stride = columns;
  call.epilogue = Epilogue::kTanhGradient;
  Check(call);
}

TEST_P(DenseKernelsTest, DeepProductsAreRightInEveryBlock) {
  const int rows = 197, columns = 258, depth = 523;
  const std::vector<float> a = Normals(rows * depth, 1), b = Normals(columns * depth, 2);
  const std::vector<float> bias = Normals(columns, 3);
  GemmCall call{.rows = rows, .columns = columns, .depth = depth, .a = a.data()};
  call.a_row_stride = depth;
  call.b = b.data();
  call.b_row_stride = columns;
  call.bias = bias.data();
  call.accumulate = true;
  call.epilogue = Epilogue::kTanh;
  Check(call);
}

TEST_P(DenseKernelsTest, ALongDepthIsSummedWhole) {
  const std::vector<float> a = Normals(1500 * 4, 1), b = Normals(1500 * 4, 2);
  GemmCall call{.rows = 3, .columns = 2, .depth = 1500, .a = a.data(), .a_row_stride = 1500};
  call.b = b.data();
  call.b_row_stride = 2;
  Check(call);
}

TEST_P(DenseKernelsTest, TanhIsRightToFloatAccuracyEverywhere) {
  std::vector<float> x;
  for (double v = -12; v <= 12; v += 1.0 / 4096) x.push_back(static_cast<float>(v));
  for (double v = 1e-30; v < 1e30; v *= 3) x.push_back(static_cast<float>(v));
  const int count = static_cast<int>(x.size());
  const float one = 1.0f;
  std::vector<float> y(x.size());
  GemmCall call{.rows = 1, .columns = count, .depth = 1, .a = &one, .a_row_stride = 1};
  call.b = x.data();
  call.b_row_stride = count;
  call.c = y.data();
  call.epilogue = Epilogue::kTanh;
  kernels->gemm(call);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double expected = std::tanh(double{x[i]});
    ASSERT_NEAR(y[i], expected, 3.5e-7 * std::abs(expected)) << x[i];
  }
}

TEST_P(DenseKernelsTest, ColumnSumsAddToWhatIsThere) {
  const std::vector<float> values = Normals(65 * 70, 1), before = Normals(65, 2);
  for (const int rows : kSizes)
    for (const int columns : kSizes) {
      std::vector<float> sums = before;
      kernels->add_column_sums(rows, columns, values.data(), 70, sums.data());
      for (int j = 0; j < 65; ++j) {
        double expected = before[j];
        for (int i = 0; i < rows && j < columns; ++i) expected += values[i * 70 + j];
        ASSERT_NEAR(sums[j], expected, 2e-5) << rows << "x" << columns << " at " << j;
      }
    }
}

TEST_P(DenseKernelsTest, TransposesOfAllSizesAreExact) {
  const std::vector<float> from = Normals(65 * 65, 1);
  for (const int rows : kSizes)
    for (const int columns : kSizes) {
      std::vector<float> to(rows * columns);
      kernels->transpose(rows, columns, from.data(), to.data());
      for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j)
          ASSERT_EQ(to[j * rows + i], from[i * columns + j]) << rows << "x" << columns;
    }
}

TEST_P(DenseKernelsTest, NormalizeCentresScalesAndClips) {
  for (const int columns : kSizes) {
    std::vector<float> x = Normals(3 * columns, 1), y(3 * columns + 1, 7.0f);
    const std::vector<float> mean = Normals(columns, 2), scale(columns, 2.0f);
    x[0] = 1e9f;
    x[columns] = -1e9f;
    kernels->normalize(3, columns, x.data(), mean.data(), scale.data(), y.data());
    EXPECT_EQ(y[0], 10.0f);
    EXPECT_EQ(y[columns], -10.0f);
    EXPECT_EQ(y[3 * columns], 7.0f);
    const float expected = (x[3 * columns - 1] - mean[columns - 1]) * 2.0f;
    EXPECT_NEAR(y[3 * columns - 1], std::min(std::max(expected, -10.0f), 10.0f), 1e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(, DenseKernelsTest,
                         testing::Values(KernelSet::kPlain, KernelSet::kAvx2, KernelSet::kAvx512),
                         [](const auto& test) {
                           if (test.param == KernelSet::kPlain) return "Plain";
                           return test.param == KernelSet::kAvx2 ? "Avx2" : "Avx512";
                         });

TEST(KernelSetTest, PlainRunsEverywhereAndTheBestOneRunsHere) {
  EXPECT_TRUE(ProcessorRuns(KernelSet::kPlain));
  EXPECT_TRUE(ProcessorRuns(BestKernelSet()));
  EXPECT_EQ(BestKernels<DenseKernels>().set, BestKernelSet());
}

}  // namespace
}  // namespace murmurate
