// A stand-in for cuBLASLt with the same functions: products of column-major matrices in host memory, as
// cuBLASLt's manual defines them, so that what is asked of it can be computed where there is no GPU.
#include "tests/device/fake_cublaslt.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace {

FakeCublasLt state;

struct Product {
  cublasComputeType_t type;
  cublasOperation_t a, b;
};
struct Layout {
  std::uint64_t rows, columns;
  std::int64_t stride;
};

// Our structs lie in the opaque ones.
template <typename Ours, typename Opaque>
cublasStatus_t Make(Opaque** made, const Ours& ours) {
  static_assert(sizeof(Ours) <= sizeof(Opaque));
  *made = new Opaque{};
  std::memcpy(*made, &ours, sizeof ours);
  return CUBLAS_STATUS_SUCCESS;
}
template <typename Ours, typename Opaque>
Ours Of(const Opaque* opaque) {
  Ours ours;
  std::memcpy(&ours, opaque, sizeof ours);
  return ours;
}

/// op(matrix) at this row and column.
float At(const float* matrix, const Layout& layout, cublasOperation_t operation, std::uint64_t row,
         std::uint64_t column) {
  if (operation == CUBLAS_OP_T) std::swap(row, column);
  if (row >= layout.rows || column >= layout.columns) __builtin_trap();
  return matrix[column * static_cast<std::uint64_t>(layout.stride) + row];
}

}  // namespace

extern "C" {

FakeCublasLt* FakeCublasLtState() { return &state; }

size_t cublasLtGetVersion() { return 130100; }
const char* cublasLtGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_NOT_SUPPORTED ? "not supported" : "failed";
}
cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = reinterpret_cast<cublasLtHandle_t>(&state);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t) { return CUBLAS_STATUS_SUCCESS; }

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* made, cublasComputeType_t type,
                                        cudaDataType_t) {
  return Make(made, Product{type, CUBLAS_OP_N, CUBLAS_OP_N});
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product) {
  delete product;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t opaque,
                                              cublasLtMatmulDescAttributes_t name,
                                              const void* value, size_t bytes) {
  auto product = Of<Product>(opaque);
  if (bytes != sizeof(cublasOperation_t)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(name == CUBLASLT_MATMUL_DESC_TRANSA ? &product.a : &product.b, value, bytes);
  std::memcpy(opaque, &product, sizeof product);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* made, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t stride) {
  if (type != CUDA_R_32F || stride < static_cast<std::int64_t>(rows))
    return CUBLAS_STATUS_INVALID_VALUE;
  return Make(made, Layout{rows, columns, stride});
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* made) {
  return Make(made, 0);
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                                    cublasLtMatmulPreferenceAttributes_t name,
                                                    const void* value, size_t bytes) {
  void* place = &state.workspace_bytes;
  if (name == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK) place = &state.reduction_schemes;
  if (name >= CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES)
    place = &state.alignments[name - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES];
  std::memcpy(place, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t opaque,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t, int most,
                                              cublasLtMatmulHeuristicResult_t* results,
                                              int* count) {
  const auto product = Of<Product>(opaque);
  *count = product.type == state.refused ? 0 : std::min(most, state.algorithms);
  if (*count == 0) return CUBLAS_STATUS_SUCCESS;
  state.type = product.type;
  ++state.proposals;
  for (int i = 0; i < *count; ++i) {
    results[i].algo.data[0] = 1;
    results[i].algo.data[1] = static_cast<std::uint64_t>(i);
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t opaque, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                              cublasLtMatrixLayout_t, void* d, cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              size_t workspace_bytes, cudaStream_t) {
  const auto product = Of<Product>(opaque);
  const auto first = Of<Layout>(a_layout), second = Of<Layout>(b_layout),
             result = Of<Layout>(d_layout);
  if (algorithm->data[0] == 0 || c != d || workspace == nullptr ||
      workspace_bytes < state.workspace_bytes)
    return CUBLAS_STATUS_INVALID_VALUE;
  const std::uint64_t depth = product.a == CUBLAS_OP_T ? first.rows : first.columns;
  if (depth != (product.b == CUBLAS_OP_T ? second.columns : second.rows))
    return CUBLAS_STATUS_INVALID_VALUE;
  ++state.products;
  state.last = static_cast<int>(algorithm->data[1]);
  state.clock += state.milliseconds[state.last];
  for (std::uint64_t column = 0; column < result.columns; ++column) {
    for (std::uint64_t row = 0; row < result.rows; ++row) {
      double sum = 0;
      for (std::uint64_t i = 0; i < depth; ++i)
        sum += double{At(static_cast<const float*>(a), first, product.a, row, i)} *
               At(static_cast<const float*>(b), second, product.b, i, column);
      float& to = static_cast<float*>(d)[column * static_cast<std::uint64_t>(result.stride) + row];
      const float kept = *static_cast<const float*>(beta) == 0 ? 0.0f : to;
      to = static_cast<float>(*static_cast<const float*>(alpha) * sum) +
           *static_cast<const float*>(beta) * kept;
    }
  }
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
