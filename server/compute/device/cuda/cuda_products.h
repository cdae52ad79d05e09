// CudaProducts: products of matrices by cuBLASLt, which is opened for them.
//
// Our blocks are row-major, cuBLASLt's column-major: c = op(a) op(b) is computed as
// c^T = op(b)^T op(a)^T, which reads and writes the same bytes. Storage is float32, sums are float32;
// the precision says what the factors are rounded to.
//
// The same bits each time: the algorithm of a shape is the first that cuBLASLt proposes, which for one
// version of it and one kind of GPU is always the same, or the one that was kept (cuda_tuning.h); and each
// stream has one workspace of its own,
// which no other stream shares. With `deterministic` only such algorithms are asked for that add the
// parts of a long sum in one order: in one sequence, or by a kernel that runs after all parts lie in
// the workspace (CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE). Those in which blocks add to the output in
// turns (INPLACE) are left out: cuBLAS promises turns, not their order.
#pragma once

#include <cublasLt.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "murmurate/status.h"
#include "server/compute/device/cuda/cuda_libraries.h"
#include "server/compute/device/cuda/cuda_queue.h"
#include "server/compute/device/cuda/cuda_tuning.h"

namespace murmurate {

/// The one that the plug-in was compiled for.
CudaLibraryName CublasLtName();
/// "13.1.0"; empty: it has no version.
std::string CublasLtVersion(const CudaLibrary& library);

/// The functions of cuBLASLt that are used.
struct CublasLtFunctions {
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtDestroy) destroy = nullptr;
  decltype(&cublasLtGetStatusString) status_string = nullptr;
  decltype(&cublasLtMatmul) multiply = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) propose = nullptr;
  decltype(&cublasLtMatmulDescCreate) create_product = nullptr;
  decltype(&cublasLtMatmulDescDestroy) destroy_product = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) set_product = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) create_layout = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) destroy_layout = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) create_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) destroy_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference = nullptr;

  static Result<CublasLtFunctions> Of(const CudaLibrary& library);
};

class CudaProducts {
 public:
  /// kResource: the library is missing, or does not start.
  static Result<std::unique_ptr<CudaProducts>> Open(DevicePrecision precision, bool deterministic,
                                                    CudaTuning tuning = {});
  ~CudaProducts();
  CudaProducts(const CudaProducts&) = delete;
  CudaProducts& operator=(const CudaProducts&) = delete;

  /// kResource: no algorithm, no memory for the workspace, or a new shape while a graph is recorded.
  Status Multiply(const CudaQueue& queue, const ProductCall& call);
  const std::string& version() const { return version_; }

 private:
  /// Everything that the choice depends on.
  using Shape = std::array<std::int64_t, 10>;
  struct Plan {
    cublasLtMatmulDesc_t product = nullptr;
    cublasLtMatrixLayout_t first = nullptr, second = nullptr, result = nullptr;
    cublasLtMatmulAlgo_t algorithm{};
  };

  CudaProducts() = default;
  static Shape ShapeOf(const ProductCall& call);
  Status Prepare(int stream);
  Result<const Plan*> PlanFor(const CudaQueue& queue, const ProductCall& call);
  Status Describe(const ProductCall& call, cublasComputeType_t type, Plan* plan) const;
  using Proposals = std::vector<cublasLtMatmulAlgo_t>;
  Result<Proposals> Propose(const ProductCall& call, const Plan& plan) const;
  Status Choose(const CudaQueue& queue, const ProductCall& call, Plan* plan) const;
  Status Run(const CudaQueue& queue, const ProductCall& call, const Plan& plan,
             const cublasLtMatmulAlgo_t& algorithm) const;
  Status Checked(cublasStatus_t status, const ProductCall& call) const;
  void Drop(Plan* plan) const;

  CublasLtFunctions functions_;
  cublasLtHandle_t handle_ = nullptr;
  DevicePrecision precision_ = DevicePrecision::kFp32;
  bool deterministic_ = true;
  CudaTuning tuning_;
  std::string version_;
  std::array<void*, kStreams> workspaces_{};
  std::map<Shape, Plan> plans_;
};

}  // namespace murmurate
