#include "server/compute/device/cuda/cudnn_plans.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "server/compute/device/plug_in.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr int kMostPlans = 48;
constexpr std::int64_t kAlignment = 16;
using Four = std::array<std::int64_t, 4>;

std::string Text(const ConvolutionCall& shape) {
  const char* const kind = shape.kind == ConvolutionCall::Kind::kForward ? "a convolution"
                           : shape.kind == ConvolutionCall::Kind::kInputGradient
                               ? "the input gradient of a convolution"
                               : "the weight gradient of a convolution";
  return std::string(kind) + " of " + std::to_string(shape.images) + " pictures of " +
         std::to_string(shape.height) + " x " + std::to_string(shape.width) + " x " +
         std::to_string(shape.channels) + " with " + std::to_string(shape.filters) +
         " filters of " + std::to_string(shape.kernel) + " x " + std::to_string(shape.kernel) +
         ", stride " + std::to_string(shape.stride) + ", padding " + std::to_string(shape.padding);
}

/// Of [n][h][w][c], in cuDNN's order n, c, h, w.
Four ChannelsLast(const Four& nchw) {
  const auto [n, c, h, w] = nchw;
  return {h * w * c, 1, w * c, c};
}

cudnnDataType_t TypeOf(ElementType type) {
  return type == ElementType::kBf16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
}

CudnnDescriptor Tensor(const CudnnFunctions& functions, std::int64_t name, ElementType type,
                       const Four& nchw) {
  const Four strides = ChannelsLast(nchw);
  CudnnDescriptor tensor(functions, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.Set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, TypeOf(type))
      .Set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, nchw.data(), nchw.size())
      .Set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, strides.data(), strides.size())
      .Set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, name)
      .Set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, kAlignment);
  return tensor;
}

CudnnDescriptor Window(const CudnnFunctions& functions, const ConvolutionCall& shape) {
  const std::array<std::int64_t, 2> ones{1, 1}, strides{shape.stride, shape.stride},
      padding{shape.padding, shape.padding};
  CudnnDescriptor window(functions, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  window.Set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, std::int64_t{2})
      .Set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
      .Set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION)
      .Set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, padding.data(), 2)
      .Set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, padding.data(), 2)
      .Set(CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, ones.data(), 2)
      .Set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, strides.data(), 2);
  return window;
}

/// The names that cuDNN has for the parts of each kind of operation.
struct OperationNames {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t input, weight, output, window, alpha, beta;
};

const OperationNames& NamesOf(ConvolutionCall::Kind kind) {
  static constexpr OperationNames kForward{CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                                           CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                                           CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                                           CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                                           CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                                           CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                                           CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
  static constexpr OperationNames kInput{
      CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
  static constexpr OperationNames kWeight{
      CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  return kind == ConvolutionCall::Kind::kForward         ? kForward
         : kind == ConvolutionCall::Kind::kInputGradient ? kInput
                                                         : kWeight;
}

/// One convolution as a graph of cuDNN; its last part is the graph.
class ConvolutionGraph {
 public:
  ConvolutionGraph(const CudnnFunctions& functions, const CudnnTarget& target)
      : functions_(functions), target_(target) {}

  Status Build(const ConvolutionCall& shape) {
    const auto out = [&](int size) {
      return std::int64_t{(size + 2 * shape.padding - shape.kernel) / shape.stride + 1};
    };
    parts_.push_back(Tensor(functions_, kCudnnInput, shape.pictures,
                            {shape.images, shape.channels, shape.height, shape.width}));
    parts_.push_back(Tensor(functions_, kCudnnWeight, shape.pictures,
                            {shape.filters, shape.channels, shape.kernel, shape.kernel}));
    parts_.push_back(Tensor(functions_, kCudnnOutput, shape.pictures,
                            {shape.images, shape.filters, out(shape.height), out(shape.width)}));
    parts_.push_back(Window(functions_, shape));
    for (CudnnDescriptor& part : parts_) MURMURATE_RETURN_IF_ERROR(part.Finalize());
    MURMURATE_RETURN_IF_ERROR(AddOperation(NamesOf(shape.kind)));
    return AddGraph();
  }
  const CudnnDescriptor& graph() const { return parts_.back(); }
  std::vector<CudnnDescriptor> parts() && { return std::move(parts_); }

 private:
  Status AddOperation(const OperationNames& names) {
    CudnnDescriptor operation(functions_, names.type);
    operation.Set(names.input, parts_[0])
        .Set(names.weight, parts_[1])
        .Set(names.output, parts_[2])
        .Set(names.window, parts_[3])
        .Set(names.alpha, CUDNN_TYPE_FLOAT, 1.0f)
        .Set(names.beta, CUDNN_TYPE_FLOAT, 0.0f);
    MURMURATE_RETURN_IF_ERROR(operation.Finalize());
    parts_.push_back(std::move(operation));
    return {};
  }
  Status AddGraph() {
    CudnnDescriptor graph(functions_, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    graph.Set(CUDNN_ATTR_OPERATIONGRAPH_OPS, parts_.back());
    if (target_.handle != nullptr)
      graph.Set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, target_.handle);
    MURMURATE_RETURN_IF_ERROR(graph.Finalize());
    parts_.push_back(std::move(graph));
    return {};
  }

  const CudnnFunctions& functions_;
  const CudnnTarget& target_;
  std::vector<CudnnDescriptor> parts_;
};

/// Whether the rules allow an engine, by what cuDNN notes of it.
class EngineFilter {
 public:
  EngineFilter(const CudnnFunctions& functions, const CudnnPlanRules& rules)
      : functions_(functions), rules_(rules) {}

  bool Allows(const CudnnDescriptor& configuration, std::int64_t* number) const {
    CudnnDescriptor engine(functions_, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    cudnnBackendDescriptor_t raw = engine.get();
    if (configuration.Get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw) != 1)
      return false;
    engine.Get(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, number);
    return NumbersAllowed(engine) && !CompiledAtRunTime(engine);
  }

 private:
  bool NumbersAllowed(const CudnnDescriptor& engine) const {
    std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT> notes{};
    const int count = engine.Get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                 static_cast<int>(notes.size()), notes.data());
    return std::none_of(notes.begin(), notes.begin() + std::max(count, 0),
                        [this](cudnnBackendNumericalNote_t note) { return Forbidden(note); });
  }
  bool Forbidden(cudnnBackendNumericalNote_t note) const {
    switch (note) {
      case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
        return rules_.deterministic;
      case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
      case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
        return true;
      case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
      case CUDNN_NUMERICAL_NOTE_FFT:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD:
        return rules_.precision == DevicePrecision::kFp32;
      default:
        return false;
    }
  }
  bool CompiledAtRunTime(const CudnnDescriptor& engine) const {
    std::array<cudnnBackendBehaviorNote_t, CUDNN_BEHAVIOR_NOTE_TYPE_COUNT> notes{};
    const int count = engine.Get(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE,
                                 static_cast<int>(notes.size()), notes.data());
    const auto end = notes.begin() + std::max(count, 0);
    return std::find(notes.begin(), end, CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION) != end;
  }

  const CudnnFunctions& functions_;
  const CudnnPlanRules& rules_;
};

/// Asks for configurations of engines and makes plans of them.
class Planner {
 public:
  Planner(const CudnnFunctions& functions, const CudnnTarget& target, const CudnnPlanRules& rules)
      : functions_(functions), target_(target), rules_(rules), filter_(functions, rules) {}

  /// Those that the rules want of those for `graph`, at most `most`.
  Result<std::vector<CudnnPlan>> Best(const CudnnDescriptor& graph, int most) {
    MURMURATE_RETURN_IF_ERROR(Describe());
    std::vector<CudnnPlan> best;
    std::optional<CudnnPlan> least;
    for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
      for (CudnnDescriptor& configuration : Configurations(graph, mode)) {
        auto plan = PlanOf(std::move(configuration));
        if (!plan) continue;
        if (plan->workspace_bytes <= rules_.workspace_bytes)
          best.push_back(*std::move(plan));
        else if (!least || plan->workspace_bytes < least->workspace_bytes)
          least = std::move(plan);
        if (best.size() == static_cast<std::size_t>(most)) return best;
      }
      if (!best.empty()) return best;
    }
    if (least) best.push_back(*std::move(least));
    return best;
  }
  CudnnDescriptor description() && { return std::move(description_); }

 private:
  /// Makes a descriptor of the GPU that the target describes, if there is no handle of a real one.
  Status Describe() {
    if (target_.handle != nullptr) return {};
    description_ = CudnnDescriptor(functions_, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    description_.Set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                     target_.description.c_str(), target_.description.size() + 1);
    return description_.Finalize();
  }

  std::vector<CudnnDescriptor> Configurations(const CudnnDescriptor& graph,
                                              cudnnBackendHeurMode_t mode) const {
    CudnnDescriptor advice(functions_, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    advice.Set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph)
        .Set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
    if (target_.handle == nullptr) advice.Set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, description_);
    if (!advice.Finalize().ok()) return {};
    std::vector<CudnnDescriptor> found;
    std::array<cudnnBackendDescriptor_t, kMostPlans> raw{};
    for (cudnnBackendDescriptor_t& one : raw)
      one = found.emplace_back(functions_, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).get();
    const int count = advice.Get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                 kMostPlans, raw.data());
    found.resize(static_cast<std::size_t>(std::max(count, 0)));
    return found;
  }

  std::optional<CudnnPlan> PlanOf(CudnnDescriptor configuration) const {
    CudnnPlan made;
    if (!filter_.Allows(configuration, &made.engine)) return std::nullopt;
    made.plan = CudnnDescriptor(functions_, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    made.plan.Set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
    if (target_.handle != nullptr)
      made.plan.Set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, target_.handle);
    else
      made.plan.Set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, description_);
    std::int64_t workspace = 0;
    if (!made.plan.Finalize().ok() || made.plan.Get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                                    CUDNN_TYPE_INT64, 1, &workspace) != 1)
      return std::nullopt;
    made.workspace_bytes = static_cast<std::size_t>(workspace);
    made.parts.push_back(std::move(configuration));
    return made;
  }

  const CudnnFunctions& functions_;
  const CudnnTarget& target_;
  const CudnnPlanRules& rules_;
  const EngineFilter filter_;
  CudnnDescriptor description_;
};

}  // namespace

CudaLibraryName CudnnName() {
  const std::string cuda = std::to_string(CUDART_VERSION / 1000);
  return {.name = kConvolutionLibrary,
          .file = "libcudnn.so." + std::to_string(CUDNN_MAJOR),
          .package = "nvidia-cudnn-cu" + cuda};
}

std::string CudnnVersion(const CudaLibrary& library) { return library.Version("cudnnGetVersion"); }

Result<CudnnFunctions> CudnnFunctions::Of(const CudaLibrary& library) {
  CudnnFunctions found;
  MURMURATE_RETURN_IF_ERROR(
      library.Find({{"cudnnCreate", &found.create},
                    {"cudnnDestroy", &found.destroy},
                    {"cudnnSetStream", &found.set_stream},
                    {"cudnnGetErrorString", &found.error_string},
                    {"cudnnGetLastErrorString", &found.last_error},
                    {"cudnnBackendCreateDescriptor", &found.create_descriptor},
                    {"cudnnBackendDestroyDescriptor", &found.destroy_descriptor},
                    {"cudnnBackendSetAttribute", &found.set},
                    {"cudnnBackendGetAttribute", &found.get},
                    {"cudnnBackendFinalize", &found.finalize},
                    {"cudnnBackendExecute", &found.execute}}));
  return found;
}

CudnnDescriptor::CudnnDescriptor(const CudnnFunctions& functions, cudnnBackendDescriptorType_t type)
    : functions_(&functions) {
  status_ = functions.create_descriptor(type, &descriptor_);
}

CudnnDescriptor::~CudnnDescriptor() {
  if (descriptor_ != nullptr) functions_->destroy_descriptor(descriptor_);
}

CudnnDescriptor::CudnnDescriptor(CudnnDescriptor&& other) noexcept
    : functions_(other.functions_),
      descriptor_(std::exchange(other.descriptor_, nullptr)),
      status_(other.status_) {}

CudnnDescriptor& CudnnDescriptor::operator=(CudnnDescriptor&& other) noexcept {
  std::swap(functions_, other.functions_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(status_, other.status_);
  return *this;
}

CudnnDescriptor& CudnnDescriptor::Set(cudnnBackendAttributeName_t name,
                                      const CudnnDescriptor& other) {
  return SetBytes(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &other.descriptor_);
}

CudnnDescriptor& CudnnDescriptor::SetBytes(cudnnBackendAttributeName_t name,
                                           cudnnBackendAttributeType_t type, std::int64_t count,
                                           const void* values) {
  if (status_ == CUDNN_STATUS_SUCCESS)
    status_ = functions_->set(descriptor_, name, type, count, values);
  return *this;
}

int CudnnDescriptor::Get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                         int most, void* values) const {
  std::int64_t count = 0;
  if (functions_->get(descriptor_, name, type, most, &count, values) != CUDNN_STATUS_SUCCESS)
    return -1;
  return static_cast<int>(std::min<std::int64_t>(count, most));
}

Status CudnnDescriptor::Finalize() {
  if (status_ == CUDNN_STATUS_SUCCESS) status_ = functions_->finalize(descriptor_);
  if (status_ == CUDNN_STATUS_SUCCESS) return {};
  std::array<char, 256> why{};
  functions_->last_error(why.data(), why.size());
  return ResourceError(std::string("cuDNN: ") + functions_->error_string(status_) + " (" +
                       why.data() + ')');
}

Result<std::vector<CudnnPlan>> PlanConvolutions(const CudnnFunctions& functions,
                                                const CudnnTarget& target,
                                                const ConvolutionCall& shape,
                                                const CudnnPlanRules& rules, int most) {
  ConvolutionGraph graph(functions, target);
  MURMURATE_RETURN_IF_ERROR(graph.Build(shape));
  Planner planner(functions, target, rules);
  auto plans = planner.Best(graph.graph(), most);
  if (!plans.ok()) return plans.status();
  if (plans->empty())
    return ResourceError("cuDNN has no plan for " + Text(shape) +
                         " on this GPU; lower the "
                         "minibatch, or write precision = \"tf32\"");
  auto parts = std::make_shared<std::vector<CudnnDescriptor>>(std::move(graph).parts());
  parts->push_back(std::move(planner).description());
  for (CudnnPlan& plan : *plans) plan.graph = parts;
  return plans;
}

Result<CudnnPlan> PlanConvolution(const CudnnFunctions& functions, const CudnnTarget& target,
                                  const ConvolutionCall& shape, const CudnnPlanRules& rules) {
  auto plans = PlanConvolutions(functions, target, shape, rules, 1);
  if (!plans.ok()) return plans.status();
  return std::move(plans->front());
}

}  // namespace murmurate
