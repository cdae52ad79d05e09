// CudaProducts asks cuBLASLt for the products that ProductCall means: against a stand-in for the library
// that computes column-major products as its manual says (fake_cublaslt.h). What the real library
// answers only a GPU can show.
#include "server/compute/device/cuda/cuda_products.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>

#include "tests/device/fake_cublaslt.h"
#include "tests/device/fake_events.h"
#include "tests/device/kept_choices.h"

// The three functions of the runtime that products need, over host memory.
static bool device_is_full = false;
static std::size_t allocated_bytes = 0;
cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  if (device_is_full) return cudaErrorMemoryAllocation;
  allocated_bytes += bytes;
  *memory = std::malloc(bytes);
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return cudaSuccess; }

static FakeCublasLt* cublaslt = nullptr;
static float FakeClock() { return cublaslt->clock; }

namespace murmurate {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::StartsWith;

/// A matrix that lies row by row in more memory than it needs, transposed or not.
struct Matrix {
  Matrix(int given_rows, int given_columns, bool lies_transposed, float seed)
      : rows(given_rows),
        columns(given_columns),
        transposed(lies_transposed),
        stride((lies_transposed ? given_rows : given_columns) + 3),
        numbers(static_cast<std::size_t>(stride) *
                    static_cast<std::size_t>(lies_transposed ? columns : rows),
                1e30f) {
    for (int row = 0; row < rows; ++row)
      for (int column = 0; column < columns; ++column)
        At(row, column) =
            seed + static_cast<float>(row * 7 % 5) - 0.5f * static_cast<float>(column % 4);
  }
  float& At(int row, int column) {
    return numbers[static_cast<std::size_t>(transposed ? column * stride + row
                                                       : row * stride + column)];
  }

  int rows, columns;
  bool transposed;
  std::ptrdiff_t stride;
  std::vector<float> numbers;
};

class CudaProductsTest : public testing::Test {
 protected:
  CudaProductsTest() {
    setenv("MURMURATE_CUDA_PATH", MURMURATE_FAKE_CUBLASLT, 1);
    void* const handle =
        dlopen((MURMURATE_FAKE_CUBLASLT "/" + CublasLtName().file).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr)
      state_ = reinterpret_cast<FakeCublasLt* (*)()>(dlsym(handle, "FakeCublasLtState"))();
    device_is_full = false;
    allocated_bytes = 0;
    if (state_ != nullptr) *state_ = {};
    cublaslt = state_;
  }
  void SetUp() override { ASSERT_NE(state_, nullptr); }

  static std::unique_ptr<CudaProducts> Open(DevicePrecision precision = DevicePrecision::kFp32,
                                            bool deterministic = true, CudaTuning tuning = {}) {
    auto products = CudaProducts::Open(precision, deterministic, std::move(tuning));
    EXPECT_TRUE(products.ok()) << products.status().message();
    return *std::move(products);
  }
  static ProductCall CallOf(const Matrix& a, const Matrix& b, Matrix* c, bool accumulate = false) {
    return {.rows = a.rows,
            .columns = b.columns,
            .depth = a.columns,
            .a = a.numbers.data(),
            .a_stride = a.stride,
            .a_transposed = a.transposed,
            .b = b.numbers.data(),
            .b_stride = b.stride,
            .b_transposed = b.transposed,
            .c = c->numbers.data(),
            .c_stride = c->stride,
            .accumulate = accumulate};
  }

  FakeCublasLt* state_ = nullptr;
  const CudaQueue main_{.number = 0}, copy_{.number = 1};
};

TEST_F(CudaProductsTest, AreOfRowMajorMatricesEachTransposedOrNotAddedOrNot) {
  const auto products = Open();
  for (int form = 0; form < 8; ++form) {
    const bool accumulate = (form & 4) != 0;
    Matrix a(5, 11, (form & 1) != 0, 1.0f), b(11, 3, (form & 2) != 0, -2.0f), c(5, 3, false, 9.0f);
    const Matrix before = c;
    ASSERT_TRUE(products->Multiply(main_, CallOf(a, b, &c, accumulate)).ok());
    for (int row = 0; row < 5; ++row) {
      for (int column = 0; column < 3; ++column) {
        float expected = accumulate ? Matrix(before).At(row, column) : 0.0f;
        for (int i = 0; i < 11; ++i) expected += a.At(row, i) * b.At(i, column);
        EXPECT_FLOAT_EQ(c.At(row, column), expected) << "form " << form;
      }
    }
    EXPECT_EQ(c.numbers[3], 1e30f) << "the gap between two rows was written";
  }
}

TEST_F(CudaProductsTest, AreChosenOnceForEachShapeAndShareAWorkspaceForEachStream) {
  const auto products = Open();
  Matrix a(4, 8, false, 1.0f), b(8, 6, false, 2.0f), c(4, 6, false, 0.0f);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(products->Multiply(main_, CallOf(a, b, &c)).ok());
  EXPECT_EQ(state_->proposals, 1);
  EXPECT_EQ(state_->products, 3);
  EXPECT_EQ(allocated_bytes, kProductWorkspaceBytes);
  ASSERT_TRUE(products->Multiply(copy_, CallOf(a, b, &c)).ok());
  EXPECT_EQ(state_->proposals, 1);
  EXPECT_EQ(allocated_bytes, 2 * kProductWorkspaceBytes);
  ASSERT_TRUE(products->Multiply(main_, CallOf(a, b, &c, true)).ok());
  EXPECT_EQ(state_->proposals, 2);
}

TEST_F(CudaProductsTest, AskForFixedOrderSaysWhatTheWorkspaceIsAndHowBlocksAreAligned) {
  Matrix a(4, 8, false, 1.0f), b(8, 6, false, 2.0f), c(4, 6, false, 0.0f);
  ASSERT_TRUE(Open()->Multiply(main_, CallOf(a, b, &c)).ok());
  EXPECT_EQ(state_->reduction_schemes, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
  EXPECT_EQ(state_->workspace_bytes, kProductWorkspaceBytes);
  ProductCall call = CallOf(a, b, &c);
  call.rows = 3;
  call.a += 1;  // 4 bytes behind a border of 16
  ASSERT_TRUE(Open(DevicePrecision::kFp32, false)->Multiply(main_, call).ok());
  EXPECT_EQ(state_->reduction_schemes, CUBLASLT_REDUCTION_SCHEME_MASK);
  EXPECT_EQ(state_->alignments[1], 4u) << "our a is their B";
  EXPECT_GE(state_->alignments[0], 16u);
  EXPECT_EQ(state_->alignments[2], state_->alignments[3]);
}

TEST_F(CudaProductsTest, RoundFactorsAsThePrecisionSaysAndNotWhereTheGpuCannot) {
  Matrix a(4, 8, false, 1.0f), b(8, 6, false, 2.0f), c(4, 6, false, 0.0f);
  const auto type = [&](DevicePrecision precision) {
    EXPECT_TRUE(Open(precision)->Multiply(main_, CallOf(a, b, &c)).ok());
    return state_->type;
  };
  EXPECT_EQ(type(DevicePrecision::kFp32), CUBLAS_COMPUTE_32F);
  EXPECT_EQ(type(DevicePrecision::kTf32), CUBLAS_COMPUTE_32F_FAST_TF32);
  EXPECT_EQ(type(DevicePrecision::kBf16), CUBLAS_COMPUTE_32F_FAST_16BF);
  state_->refused = CUBLAS_COMPUTE_32F_FAST_16BF;
  EXPECT_EQ(type(DevicePrecision::kBf16), CUBLAS_COMPUTE_32F);
}

TEST_F(CudaProductsTest, AreByTheFastestAlgorithmWhichIsKept) {
  Matrix a(4, 8, false, 1.0f), b(8, 6, false, 2.0f), c(4, 6, false, 0.0f);
  state_->algorithms = 6;
  const float milliseconds[] = {3, 2, 0.5f, 1};
  std::ranges::copy(milliseconds, state_->milliseconds);
  const auto choices = std::make_shared<KeptChoices>();
  const CudaTuning tuning{choices, "GPU, fp32"};
  auto products = Open(DevicePrecision::kFp32, true, tuning);
  ASSERT_TRUE(products->Multiply(main_, CallOf(a, b, &c)).ok());
  EXPECT_EQ(state_->last, 2);
  EXPECT_EQ(state_->products, 4 * 6 + 1) << "each once, then five times";
  EXPECT_THAT(choices->kept,
              ElementsAre(Pair(HasSubstr("cuBLASLt 13.1.0, product 4 6 8 "), StartsWith("2:"))));
  EXPECT_THAT(choices->kept.begin()->first, EndsWith(", GPU, fp32"));
  ASSERT_TRUE(products->Multiply(main_, CallOf(a, b, &c)).ok());
  EXPECT_EQ(state_->products, 4 * 6 + 2) << "measured once";
  EXPECT_EQ(fake_events, 0);

  // Another process, where another would be faster now.
  state_->milliseconds[0] = 0.1f;
  products = Open(DevicePrecision::kFp32, true, tuning);
  ASSERT_TRUE(products->Multiply(main_, CallOf(a, b, &c)).ok());
  EXPECT_EQ(state_->last, 2);
  EXPECT_EQ(state_->products, 4 * 6 + 3);

  // One that is not proposed any more.
  choices->kept.begin()->second = "2:5";
  products = Open(DevicePrecision::kFp32, true, tuning);
  ASSERT_TRUE(products->Multiply(main_, CallOf(a, b, &c)).ok());
  EXPECT_EQ(state_->last, 0);
  EXPECT_THAT(choices->kept.begin()->second, StartsWith("0:"));
}

TEST_F(CudaProductsTest, ThatAreAddedAreMeasuredOnACopyAndWithoutTuningNothingIs) {
  Matrix a(4, 8, false, 1.0f), b(8, 6, false, 2.0f), c(4, 6, false, 9.0f), plain = c;
  state_->algorithms = 3;
  ASSERT_TRUE(Open()->Multiply(main_, CallOf(a, b, &plain, true)).ok());
  EXPECT_EQ(state_->products, 1);
  EXPECT_EQ(state_->last, 0);
  state_->milliseconds[1] = 0.5f;
  const auto choices = std::make_shared<KeptChoices>();
  auto products = Open(DevicePrecision::kFp32, true, {choices, "GPU"});
  ASSERT_TRUE(products->Multiply(main_, CallOf(a, b, &c, true)).ok());
  EXPECT_EQ(state_->last, 1);
  EXPECT_EQ(c.numbers, plain.numbers) << "it was added more than once";
  device_is_full = true;  // without room for a copy
  a = Matrix(5, 8, false, 1.0f);
  c = Matrix(5, 6, false, 9.0f);
  ASSERT_TRUE(products->Multiply(main_, CallOf(a, b, &c, true)).ok());
  EXPECT_EQ(state_->last, 0) << "what is proposed first";
  EXPECT_EQ(choices->kept.size(), 1u);
}

TEST_F(CudaProductsTest, InAGraphWereRunBefore) {
  const auto products = Open();
  Matrix a(4, 8, false, 1.0f), b(8, 6, false, 2.0f), c(4, 6, false, 0.0f);
  const CudaQueue recording{.number = 0, .recording = true};
  const Status fresh = products->Multiply(recording, CallOf(a, b, &c));
  EXPECT_EQ(fresh.code(), StatusCode::kResource);
  EXPECT_EQ(fresh.message(),
            "a graph has a product of 4 x 8 by 8 x 6, which was not run before on its stream");
  ASSERT_TRUE(products->Multiply(copy_, CallOf(a, b, &c)).ok());
  EXPECT_FALSE(products->Multiply(recording, CallOf(a, b, &c)).ok()) << "on another stream";
  ASSERT_TRUE(products->Multiply(main_, CallOf(a, b, &c)).ok());
  EXPECT_TRUE(products->Multiply(recording, CallOf(a, b, &c)).ok());
}

TEST_F(CudaProductsTest, ThatCannotBeSayWhy) {
  Matrix a(4, 8, false, 1.0f), b(8, 6, false, 2.0f), c(4, 6, false, 0.0f);
  state_->refused = CUBLAS_COMPUTE_32F;
  EXPECT_EQ(Open()->Multiply(main_, CallOf(a, b, &c)).message(),
            "cuBLASLt 13.1.0 cannot compute a product of 4 x 8 by 8 x 6 (not supported)");
  device_is_full = true;
  EXPECT_THAT(Open()->Multiply(main_, CallOf(a, b, &c)).message(),
              HasSubstr("the GPU has no 32 MiB left for products of matrices"));
}

}  // namespace
}  // namespace murmurate
