#include "server/compute/device/cuda/cuda_convolutions.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "server/compute/device/cuda/cudnn_plans.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr std::size_t kBorder = 256;

/// Of a stream. Memory that a graph may use stays until the end.
class Workspace {
 public:
  ~Workspace() {
    cudaFree(memory_);
    for (void* memory : kept_) cudaFree(memory);
  }
  std::size_t bytes() const { return bytes_; }
  std::byte* memory() const { return static_cast<std::byte*>(memory_); }

  Status Grow(const CudaQueue& queue, std::size_t bytes, bool graphs) {
    if (graphs) {
      kept_.push_back(memory_);
    } else {
      cudaStreamSynchronize(queue.stream);
      cudaFree(memory_);
    }
    memory_ = nullptr;
    bytes_ = 0;
    if (cudaMalloc(&memory_, bytes) != cudaSuccess) {
      (void)cudaGetLastError();
      return ResourceError("the GPU has no " + std::to_string(bytes >> 20) +
                           " MiB left for convolutions; lower algorithm.minibatch, or end "
                           "what else runs on it");
    }
    bytes_ = bytes;
    return {};
  }

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
  std::vector<void*> kept_;
};

struct Lane {
  cudnnHandle_t handle = nullptr;
  Workspace workspace;
};

std::size_t WeightBytes(const ConvolutionCall& call) {
  const std::size_t numbers = static_cast<std::size_t>(call.kernel) * call.kernel * call.channels *
                              static_cast<std::size_t>(call.filters);
  return (numbers * BytesOf(call.pictures) + kBorder - 1) / kBorder * kBorder;
}

class CudnnConvolutions final : public CudaConvolutions {
 public:
  CudnnConvolutions(const CudnnFunctions& functions, const CudnnPlanRules& rules, CudaTuning tuning,
                    std::string version)
      : functions_(functions),
        rules_(rules),
        tuning_(std::move(tuning)),
        version_(std::move(version)) {}
  ~CudnnConvolutions() override {
    plans_.clear();
    for (Lane& lane : lanes_)
      if (lane.handle != nullptr) functions_.destroy(lane.handle);
  }

  Status Convolve(const CudaQueue& queue, const ConvolutionCall& call,
                  const Transposer& transpose) override {
    graphs_ = graphs_ || queue.recording;
    Lane& lane = lanes_[static_cast<std::size_t>(queue.number)];
    const auto plan = Prepare(queue, call, &lane);
    if (!plan.ok()) return plan.status();
    const int depth = call.kernel * call.kernel * call.channels;
    std::byte* const turned = lane.workspace.memory();
    const bool gives_weight = call.kind == ConvolutionCall::Kind::kWeightGradient;
    if (!gives_weight)
      transpose({.from = call.weight,
                 .to = turned,
                 .rows = depth,
                 .columns = call.filters,
                 .to_type = call.pictures});
    MURMURATE_RETURN_IF_ERROR(Execute(call, **plan, lane.handle, turned));
    if (gives_weight)
      transpose({.from = turned,
                 .to = call.weight,
                 .rows = call.filters,
                 .columns = depth,
                 .from_type = call.pictures});
    return {};
  }
  const std::string& version() const override { return version_; }

 private:
  /// Everything that the choice depends on.
  using Shape = std::array<int, 10>;
  static Shape ShapeOf(const ConvolutionCall& call) {
    return {static_cast<int>(call.kind),
            call.images,
            call.height,
            call.width,
            call.channels,
            call.filters,
            call.kernel,
            call.stride,
            call.padding,
            static_cast<int>(call.pictures)};
  }

  /// The plan of the call, when the stream has all that it needs.
  Result<const CudnnPlan*> Prepare(const CudaQueue& queue, const ConvolutionCall& call,
                                   Lane* lane) {
    const auto found = plans_.find(ShapeOf(call));
    const bool fits = found != plans_.end() && lane->handle != nullptr &&
                      lane->workspace.bytes() >= BytesOf(call, found->second);
    if (fits) return &found->second;
    if (queue.recording)
      return ResourceError("a graph has a convolution that was not run before on its stream");
    MURMURATE_RETURN_IF_ERROR(Start(queue, lane));
    if (found == plans_.end()) {
      auto plan = Choose(queue, call, lane->handle);
      if (!plan.ok()) return plan.status();
      plans_.emplace(ShapeOf(call), *std::move(plan));
    }
    const CudnnPlan& plan = plans_.at(ShapeOf(call));
    if (lane->workspace.bytes() < BytesOf(call, plan))
      MURMURATE_RETURN_IF_ERROR(lane->workspace.Grow(queue, BytesOf(call, plan), graphs_));
    return &plan;
  }
  /// The plan of a shape that is new. Those that are measured have memory of their own.
  Result<CudnnPlan> Choose(const CudaQueue& queue, const ConvolutionCall& call,
                           cudnnHandle_t handle) const {
    auto plans = PlanConvolutions(functions_, {.handle = handle}, call, rules_, tuning_.most());
    if (!plans.ok()) return plans.status();
    std::vector<std::string> names;
    std::size_t most_bytes = 0;
    for (const CudnnPlan& plan : *plans) {
      names.push_back(std::to_string(names.size()) + ":" + std::to_string(plan.engine));
      most_bytes = std::max(most_bytes, BytesOf(call, plan));
    }
    Workspace measured;
    const auto run = [&](int number) -> Status {
      if (measured.bytes() == 0) MURMURATE_RETURN_IF_ERROR(measured.Grow(queue, most_bytes, false));
      return Execute(call, (*plans)[static_cast<std::size_t>(number)], handle, measured.memory());
    };
    const int chosen =
        tuning_.Choose(queue, "cuDNN " + version_ + ", " + NameOf(ShapeOf(call)), names, run);
    return std::move((*plans)[static_cast<std::size_t>(chosen)]);
  }
  static std::string NameOf(const Shape& shape) {
    std::string name = "convolution";
    for (const int number : shape) name += ' ' + std::to_string(number);
    return name;
  }
  static std::size_t BytesOf(const ConvolutionCall& call, const CudnnPlan& plan) {
    return WeightBytes(call) + plan.workspace_bytes;
  }

  Status Start(const CudaQueue& queue, Lane* lane) {
    if (lane->handle != nullptr) return {};
    cudnnStatus_t status = functions_.create(&lane->handle);
    if (status == CUDNN_STATUS_SUCCESS) status = functions_.set_stream(lane->handle, queue.stream);
    if (status == CUDNN_STATUS_SUCCESS) return {};
    return ResourceError("cuDNN " + version_ + " does not start (" +
                         functions_.error_string(status) + ')');
  }

  /// `memory`: the turned weights, and behind them the workspace.
  Status Execute(const ConvolutionCall& call, const CudnnPlan& plan, cudnnHandle_t handle,
                 std::byte* memory) const {
    const std::array<std::int64_t, 3> names{kCudnnInput, kCudnnWeight, kCudnnOutput};
    const std::array<void*, 3> blocks{call.input, memory, call.output};
    void* const workspace = memory + WeightBytes(call);
    CudnnDescriptor pack(functions_, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.Set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, names.data(), names.size())
        .Set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, blocks.data(),
             blocks.size())
        .Set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
    MURMURATE_RETURN_IF_ERROR(pack.Finalize());
    const cudnnStatus_t status = functions_.execute(handle, plan.plan.get(), pack.get());
    if (status == CUDNN_STATUS_SUCCESS) return {};
    return ResourceError("cuDNN " + version_ + " cannot compute a convolution (" +
                         functions_.error_string(status) + ')');
  }

  const CudnnFunctions functions_;
  const CudnnPlanRules rules_;
  const CudaTuning tuning_;
  const std::string version_;
  std::array<Lane, kStreams> lanes_;
  std::map<Shape, CudnnPlan> plans_;
  bool graphs_ = false;  ///< one was recorded
};

}  // namespace

Result<std::unique_ptr<CudaConvolutions>> CudaConvolutions::Open(DevicePrecision precision,
                                                                 bool deterministic,
                                                                 CudaTuning tuning) {
  const auto opened = OpenedCudaLibrary<CudnnFunctions>::Open(CudnnName());
  if (!opened.ok()) return opened.status();
  return std::unique_ptr<CudaConvolutions>(std::make_unique<CudnnConvolutions>(
      opened->functions, CudnnPlanRules{.precision = precision, .deterministic = deterministic},
      std::move(tuning), CudnnVersion(opened->library)));
}

}  // namespace murmurate
