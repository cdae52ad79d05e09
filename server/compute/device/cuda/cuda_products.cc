#include "server/compute/device/cuda/cuda_products.h"

#include <algorithm>
#include <bit>

#include "server/compute/device/plug_in.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr std::uint32_t kMostAlignment = 256;

std::uint32_t AlignmentOf(const void* memory) {
  const auto place = reinterpret_cast<std::uintptr_t>(memory);
  return place == 0
             ? kMostAlignment
             : std::min(kMostAlignment, std::uint32_t{1} << std::min(8, std::countr_zero(place)));
}

std::string Text(const ProductCall& call) {
  return "a product of " + std::to_string(call.rows) + " x " + std::to_string(call.depth) + " by " +
         std::to_string(call.depth) + " x " + std::to_string(call.columns);
}

/// The place among the proposals, and what tells the algorithm from others of this version.
std::string NameOf(std::size_t place, const cublasLtMatmulAlgo_t& algorithm) {
  std::uint64_t hash = 1469598103934665603u;
  for (const std::uint64_t word : algorithm.data) hash = (hash ^ word) * 1099511628211u;
  return std::to_string(place) + ":" + std::to_string(hash);
}

template <std::size_t kNumbers>
std::string NameOf(const std::array<std::int64_t, kNumbers>& shape) {
  std::string name = "product";
  for (const std::int64_t number : shape) name += ' ' + std::to_string(number);
  return name;
}

cublasComputeType_t TypeOf(DevicePrecision precision) {
  switch (precision) {
    case DevicePrecision::kTf32:
      return CUBLAS_COMPUTE_32F_FAST_TF32;
    case DevicePrecision::kBf16:
      return CUBLAS_COMPUTE_32F_FAST_16BF;
    default:
      return CUBLAS_COMPUTE_32F;
  }
}

}  // namespace

CudaLibraryName CublasLtName() {
  const std::string major = std::to_string(CUBLAS_VER_MAJOR);
  return {.name = kProductLibrary,
          .file = "libcublasLt.so." + major,
          .package = CUBLAS_VER_MAJOR >= 13 ? "nvidia-cublas" : "nvidia-cublas-cu" + major};
}

std::string CublasLtVersion(const CudaLibrary& library) {
  return library.Version("cublasLtGetVersion");
}

Result<CublasLtFunctions> CublasLtFunctions::Of(const CudaLibrary& library) {
  CublasLtFunctions found;
  MURMURATE_RETURN_IF_ERROR(
      library.Find({{"cublasLtCreate", &found.create},
                    {"cublasLtDestroy", &found.destroy},
                    {"cublasLtGetStatusString", &found.status_string},
                    {"cublasLtMatmul", &found.multiply},
                    {"cublasLtMatmulAlgoGetHeuristic", &found.propose},
                    {"cublasLtMatmulDescCreate", &found.create_product},
                    {"cublasLtMatmulDescDestroy", &found.destroy_product},
                    {"cublasLtMatmulDescSetAttribute", &found.set_product},
                    {"cublasLtMatrixLayoutCreate", &found.create_layout},
                    {"cublasLtMatrixLayoutDestroy", &found.destroy_layout},
                    {"cublasLtMatmulPreferenceCreate", &found.create_preference},
                    {"cublasLtMatmulPreferenceDestroy", &found.destroy_preference},
                    {"cublasLtMatmulPreferenceSetAttribute", &found.set_preference}}));
  return found;
}

Result<std::unique_ptr<CudaProducts>> CudaProducts::Open(DevicePrecision precision,
                                                         bool deterministic, CudaTuning tuning) {
  const auto opened = OpenedCudaLibrary<CublasLtFunctions>::Open(CublasLtName());
  if (!opened.ok()) return opened.status();
  std::unique_ptr<CudaProducts> products(new CudaProducts());
  products->functions_ = opened->functions;
  products->precision_ = precision;
  products->deterministic_ = deterministic;
  products->tuning_ = std::move(tuning);
  products->version_ = CublasLtVersion(opened->library);
  const cublasStatus_t status = opened->functions.create(&products->handle_);
  if (status != CUBLAS_STATUS_SUCCESS)
    return ResourceError(opened->library.path() + " does not start (" +
                         opened->functions.status_string(status) + ")");
  return products;
}

CudaProducts::~CudaProducts() {
  for (auto& [shape, plan] : plans_) Drop(&plan);
  for (void* workspace : workspaces_) cudaFree(workspace);
  if (handle_ != nullptr) functions_.destroy(handle_);
}

void CudaProducts::Drop(Plan* plan) const {
  if (plan->product != nullptr) functions_.destroy_product(plan->product);
  for (cublasLtMatrixLayout_t layout : {plan->first, plan->second, plan->result})
    if (layout != nullptr) functions_.destroy_layout(layout);
  *plan = {};
}

Status CudaProducts::Checked(cublasStatus_t status, const ProductCall& call) const {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  return ResourceError("cuBLASLt " + version_ + " cannot compute " + Text(call) + " (" +
                       functions_.status_string(status) + ")");
}

CudaProducts::Shape CudaProducts::ShapeOf(const ProductCall& call) {
  const auto flags = static_cast<std::int64_t>(call.a_transposed) |
                     static_cast<std::int64_t>(call.b_transposed) << 1 |
                     static_cast<std::int64_t>(call.accumulate) << 2;
  return {call.rows,           call.columns,       call.depth,    flags,
          call.a_stride,       call.b_stride,      call.c_stride, AlignmentOf(call.a),
          AlignmentOf(call.b), AlignmentOf(call.c)};
}

Status CudaProducts::Prepare(int stream) {
  void*& workspace = workspaces_[static_cast<std::size_t>(stream)];
  if (workspace != nullptr) return {};
  if (cudaMalloc(&workspace, kProductWorkspaceBytes) == cudaSuccess) return {};
  (void)cudaGetLastError();
  workspace = nullptr;
  return ResourceError("the GPU has no " + std::to_string(kProductWorkspaceBytes >> 20) +
                       " MiB left for products of matrices; lower algorithm.batch_steps, or end "
                       "what else runs on it");
}

/// In cuBLASLt's terms: columns x rows = (columns x depth) (depth x rows).
Status CudaProducts::Describe(const ProductCall& call, cublasComputeType_t type, Plan* plan) const {
  MURMURATE_RETURN_IF_ERROR(
      Checked(functions_.create_product(&plan->product, type, CUDA_R_32F), call));
  const cublasOperation_t first = call.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t second = call.a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  MURMURATE_RETURN_IF_ERROR(Checked(
      functions_.set_product(plan->product, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first),
      call));
  MURMURATE_RETURN_IF_ERROR(Checked(
      functions_.set_product(plan->product, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second),
      call));
  const auto layout = [&](cublasLtMatrixLayout_t* made, bool transposed, int rows, int columns,
                          std::int64_t stride) {
    if (transposed) std::swap(rows, columns);
    return Checked(functions_.create_layout(made, CUDA_R_32F, static_cast<std::uint64_t>(rows),
                                            static_cast<std::uint64_t>(columns), stride),
                   call);
  };
  MURMURATE_RETURN_IF_ERROR(
      layout(&plan->first, call.b_transposed, call.columns, call.depth, call.b_stride));
  MURMURATE_RETURN_IF_ERROR(
      layout(&plan->second, call.a_transposed, call.depth, call.rows, call.a_stride));
  return layout(&plan->result, false, call.columns, call.rows, call.c_stride);
}

Result<CudaProducts::Proposals> CudaProducts::Propose(const ProductCall& call,
                                                      const Plan& plan) const {
  cublasLtMatmulPreference_t preference = nullptr;
  MURMURATE_RETURN_IF_ERROR(Checked(functions_.create_preference(&preference), call));
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t name, auto value) {
    functions_.set_preference(preference, name, &value, sizeof value);
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{kProductWorkspaceBytes});
  set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      static_cast<std::uint32_t>(deterministic_ ? CUBLASLT_REDUCTION_SCHEME_NONE |
                                                      CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE
                                                : CUBLASLT_REDUCTION_SCHEME_MASK));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, AlignmentOf(call.b));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, AlignmentOf(call.a));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, AlignmentOf(call.c));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, AlignmentOf(call.c));
  std::vector<cublasLtMatmulHeuristicResult_t> proposed(static_cast<std::size_t>(tuning_.most()));
  int count = 0;
  const cublasStatus_t status =
      functions_.propose(handle_, plan.product, plan.first, plan.second, plan.result, plan.result,
                         preference, tuning_.most(), proposed.data(), &count);
  functions_.destroy_preference(preference);
  MURMURATE_RETURN_IF_ERROR(Checked(status, call));
  Proposals proposals;
  for (int i = 0; i < count; ++i)
    if (proposed[static_cast<std::size_t>(i)].state == CUBLAS_STATUS_SUCCESS)
      proposals.push_back(proposed[static_cast<std::size_t>(i)].algo);
  if (proposals.empty()) return Checked(CUBLAS_STATUS_NOT_SUPPORTED, call);
  return proposals;
}

Status CudaProducts::Choose(const CudaQueue& queue, const ProductCall& call, Plan* plan) const {
  const auto proposals = Propose(call, *plan);
  if (!proposals.ok()) return proposals.status();
  std::vector<std::string> names;
  for (const cublasLtMatmulAlgo_t& algorithm : *proposals)
    names.push_back(NameOf(names.size(), algorithm));
  // A product that is added to what is there is measured on a copy.
  ProductCall measured = call;
  void* copy = nullptr;
  const auto run = [&](int number) -> Status {
    if (call.accumulate && copy == nullptr) {
      const std::size_t bytes = static_cast<std::size_t>(call.rows) * call.c_stride * sizeof(float);
      if (cudaMalloc(&copy, bytes) != cudaSuccess) {
        (void)cudaGetLastError();
        return ResourceError("no memory for a copy");
      }
      measured.c = static_cast<float*>(copy);
    }
    return Run(queue, measured, *plan, (*proposals)[static_cast<std::size_t>(number)]);
  };
  const int chosen =
      tuning_.Choose(queue, "cuBLASLt " + version_ + ", " + NameOf(ShapeOf(call)), names, run);
  if (copy != nullptr) cudaFree(copy);
  plan->algorithm = (*proposals)[static_cast<std::size_t>(chosen)];
  return {};
}

Result<const CudaProducts::Plan*> CudaProducts::PlanFor(const CudaQueue& queue,
                                                        const ProductCall& call) {
  const Shape shape = ShapeOf(call);
  const auto found = plans_.find(shape);
  const bool prepared = workspaces_[static_cast<std::size_t>(queue.number)] != nullptr;
  if (found != plans_.end() && prepared) return &found->second;
  if (queue.recording)
    return ResourceError("a graph has " + Text(call) + ", which was not run before on its stream");
  MURMURATE_RETURN_IF_ERROR(Prepare(queue.number));
  if (found != plans_.end()) return &found->second;
  Status status;
  for (const cublasComputeType_t type : {TypeOf(precision_), CUBLAS_COMPUTE_32F}) {
    Plan plan;
    status = Describe(call, type, &plan);
    if (status.ok()) status = Choose(queue, call, &plan);
    if (status.ok()) return &plans_.emplace(shape, plan).first->second;
    Drop(&plan);  // a GPU without bf16 computes as floats
  }
  return status;
}

Status CudaProducts::Run(const CudaQueue& queue, const ProductCall& call, const Plan& plan,
                         const cublasLtMatmulAlgo_t& algorithm) const {
  const float alpha = 1.0f, beta = call.accumulate ? 1.0f : 0.0f;
  return Checked(
      functions_.multiply(handle_, plan.product, &alpha, call.b, plan.first, call.a, plan.second,
                          &beta, call.c, plan.result, call.c, plan.result, &algorithm,
                          workspaces_[static_cast<std::size_t>(queue.number)],
                          kProductWorkspaceBytes, queue.stream),
      call);
}

Status CudaProducts::Multiply(const CudaQueue& queue, const ProductCall& call) {
  MURMURATE_CHECK(call.rows > 0 && call.columns > 0 && call.depth > 0, "a product has a size");
  const auto plan = PlanFor(queue, call);
  if (!plan.ok()) return plan.status();
  return Run(queue, call, **plan, (*plan)->algorithm);
}

}  // namespace murmurate
