#include "shared/inference/packed_steps.h"

#include <algorithm>

#include "shared/compute/packed_weight.h"
#include "shared/core/check.h"
#include "shared/inference/epilogues.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {
namespace {

using Form = PackedTensor::Form;
using Kind = PolicyStep::Kind;

constexpr int kRowsAtOnce = 64;
constexpr int kFloatsAtOnce = 64 * 1024;         // of all rows between two steps: 256 KiB
constexpr std::size_t kNearFloats = 128 * 1024;  // a weight of half a MiB stays in the second cache
constexpr int kNarrow = 8;                       // a product of so few columns is packed transposed

Window WindowOf(const PlannedLayer& planned) {
  const Layer& layer = planned.layer;
  return {planned.in.height,
          planned.in.width,
          planned.in.channels,
          {layer.kernel, layer.kernel},
          {layer.stride, layer.stride},
          {layer.padding, layer.padding}};
}

Kind KindOf(Layer::Kind kind) {
  switch (kind) {
    case Layer::Kind::kConv:
      return Kind::kConv;
    case Layer::Kind::kMaxPool:
      return Kind::kPool;
    case Layer::Kind::kLayerNorm:
      return Kind::kNorm;
    case Layer::Kind::kActivation:
      return Kind::kApply;
    case Layer::Kind::kResidual:
      return Kind::kKeep;
    case Layer::Kind::kAdd:
      return Kind::kAdd;
    case Layer::Kind::kLstm:
      return Kind::kLstm;
    case Layer::Kind::kGru:
      return Kind::kGru;
    default:
      return Kind::kProduct;
  }
}

PackedRun FindRun(const PackedTensor& tensor, std::size_t index, const DenseKernels& kernels) {
  const auto columns = static_cast<std::size_t>(tensor.columns);
  switch (tensor.form) {
    case Form::kTransposed:
      return {index % columns * static_cast<std::size_t>(tensor.depth) + index / columns, 1};
    case Form::kPanels:
      return FindPackedRun(tensor.depth, tensor.columns, index, kernels);
    case Form::kAsItIs:
      break;
  }
  return {index, tensor.count() - index};
}

}  // namespace

PackedSteps::PackedSteps(const ModelSpec& spec, KernelSet set) : kernels(FindLayerKernels(set)) {
  MURMURATE_CHECK(kernels != nullptr, "the processor runs this set");
  Result<NetworkPlan> made = PlanNetwork(spec, spec.policy().name);
  MURMURATE_CHECK(made.ok(), made.status().message().c_str());
  plan = *std::move(made);
  const ParameterLayout layout(spec);
  widest = plan.joined;
  for (const PlannedInput& input : plan.inputs) {
    widest = std::max(widest, static_cast<int>(input.in.count()));
    AddSteps(layout, input.layers, &inputs.emplace_back());
  }
  AddSteps(layout, plan.trunk, &trunk);
  AddProduct(layout, spec.policy().name + ".head", Epilogue::kNone, &trunk);
  if (ActionLayout(spec.spaces.action, spec.continuous).free_deviations() > 0) {
    AddTensor(layout, spec.policy().name + ".log_deviation", Form::kAsItIs, &deviations);
  }
  block = AlignedFloats(size_);
  rows_at_once = std::clamp(kFloatsAtOnce / widest, 1, kRowsAtOnce);
}

void PackedSteps::AddTensor(const ParameterLayout& layout, const std::string& name, Form form,
                            PackedTensor* tensor) {
  const TensorSlot& slot = layout.Find(name);
  const int columns = slot.shape.back();
  *tensor = {form, static_cast<int>(slot.count) / columns, columns,
             slot.offset - layout.published.offset, size_};
  tensors_.push_back(*tensor);
  size_ += (slot.count + 15) / 16 * 16;
}

void PackedSteps::AddProduct(const ParameterLayout& layout, const std::string& name,
                             Epilogue epilogue, std::vector<PolicyStep>* steps) {
  const TensorSlot& weight = layout.Find(name + ".weight");
  PolicyStep step;
  step.inputs = weight.shape[0];
  step.outputs = weight.shape[1];
  step.epilogue = epilogue;
  Form form = weight.count <= kNearFloats ? Form::kAsItIs : Form::kPanels;
  if (step.outputs <= kNarrow) form = Form::kTransposed;
  AddTensor(layout, name + ".weight", form, &step.tensors[0]);
  AddTensor(layout, name + ".bias", Form::kAsItIs, &step.tensors[1]);
  widest = std::max(widest, step.outputs);
  steps->push_back(step);
}

void PackedSteps::AddSteps(const ParameterLayout& layout, const std::vector<PlannedLayer>& layers,
                           std::vector<PolicyStep>* steps) {
  for (const PlannedLayer& planned : layers) {
    const Layer& layer = planned.layer;
    if (layer.kind == Layer::Kind::kFlatten) continue;  // a row stays as it lies
    if (layer.kind == Layer::Kind::kDense) {
      AddProduct(layout, planned.name, ForwardEpilogue(layer.activation), steps);
      continue;
    }
    PolicyStep step;
    step.kind = KindOf(layer.kind);
    step.inputs = static_cast<int>(planned.in.count());
    step.outputs = static_cast<int>(planned.out.count());
    step.epilogue = ForwardEpilogue(layer.activation);
    step.window = WindowOf(planned);
    const auto add = [&](int i, const char* name, Form form) {
      AddTensor(layout, planned.name + name, form, &step.tensors[i]);
    };
    if (step.kind == Kind::kConv) add(0, ".weight", Form::kAsItIs), add(1, ".bias", Form::kAsItIs);
    if (step.kind == Kind::kNorm) add(0, ".gain", Form::kAsItIs), add(1, ".shift", Form::kAsItIs);
    if (layer.recurrent()) {
      add(0, ".input_weight", Form::kPanels), add(1, ".hidden_weight", Form::kPanels);
      add(2, ".bias", Form::kAsItIs);
      if (step.kind == Kind::kGru) add(3, ".hidden_bias", Form::kAsItIs);
      step.state = states_;
      states_ += step.kind == Kind::kLstm ? 2 * layer.units : layer.units;
    }
    widest = std::max(widest, step.outputs);
    steps->push_back(step);
  }
}

/// visit(place in the packed block, place in the policy section, count), for all of [first, end)
/// that is not between two tensors.
template <typename Visit>
void PackedSteps::VisitRuns(std::size_t first, std::size_t end, Visit visit) const {
  for (const PackedTensor& tensor : tensors_) {
    const std::size_t from = std::max(first, tensor.source);
    const std::size_t to = std::min(end, tensor.source + tensor.count());
    for (std::size_t at = from; at < to;) {
      PackedRun run = FindRun(tensor, at - tensor.source, *kernels->dense);
      run.count = std::min(run.count, to - at);
      visit(tensor.place + run.place, at, run.count);
      at += run.count;
    }
  }
}

void PackedSteps::Pack(std::size_t first, std::span<const float> numbers) {
  VisitRuns(first, first + numbers.size(),
            [&](std::size_t place, std::size_t source, std::size_t count) {
              std::copy_n(numbers.data() + (source - first), count, block.data() + place);
            });
}

void PackedSteps::Unpack(std::span<float> policy) const {
  VisitRuns(0, policy.size(), [&](std::size_t place, std::size_t source, std::size_t count) {
    std::copy_n(block.data() + place, count, policy.data() + source);
  });
}

}  // namespace murmurate
