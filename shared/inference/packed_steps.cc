#include "shared/inference/packed_steps.h"

#include <algorithm>

#include "shared/compute/packed_weight.h"
#include "shared/core/check.h"
#include "shared/inference/kernel_terms.h"
#include "shared/inference/policy_steps.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {
namespace {

using Form = PackedTensor::Form;

constexpr int kRowsAtOnce = 64;
constexpr int kFloatsAtOnce = 64 * 1024;         // of all rows between two steps: 256 KiB
constexpr std::size_t kNearFloats = 128 * 1024;  // a weight of half a MiB stays in the second cache
constexpr int kNarrow = 8;                       // a product of so few columns is packed transposed

Form FormOfPacked(Packing packing, std::size_t count, int columns) {
  if (packing == Packing::kAsItIs) return Form::kAsItIs;
  if (packing == Packing::kPanels) return Form::kPanels;
  if (columns <= kNarrow) return Form::kTransposed;
  return count <= kNearFloats ? Form::kAsItIs : Form::kPanels;
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

PackedSteps::PackedSteps(const ModelSpec& spec, KernelSet set)
    : kernels(FindKernels<LayerKernels>(set)) {
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
  AddSteps(layout, {&plan.head, 1}, &trunk);
  if (ActionLayout(spec.spaces.action, spec.continuous).free_deviations() > 0) {
    AddTensor(layout, spec.policy().name + ".log_deviation", Packing::kAsItIs, &deviations);
  }
  block = AlignedFloats(size_);
  rows_at_once = std::clamp(kFloatsAtOnce / widest, 1, kRowsAtOnce);
}

void PackedSteps::AddTensor(const ParameterLayout& layout, const std::string& name, Packing packing,
                            PackedTensor* tensor) {
  const TensorSlot& slot = layout.Find(name);
  const int columns = slot.shape.back();
  *tensor = {FormOfPacked(packing, slot.count, columns), static_cast<int>(slot.count) / columns,
             columns, slot.offset - layout.published.offset, size_};
  tensors_.push_back(*tensor);
  size_ += (slot.count + 15) / 16 * 16;
}

void PackedSteps::AddSteps(const ParameterLayout& layout, std::span<const PlannedLayer> layers,
                           std::vector<PolicyStep>* steps) {
  for (const PlannedLayer& planned : layers) {
    const LayerOp& op = OpOf(planned.layer.kind);
    if (op.run == nullptr) continue;
    PolicyStep step{.kind = op.kind,
                    .op = &op,
                    .takes_rows_apart = op.passes || FormOf(op.kind).takes_rows_apart,
                    .inputs = static_cast<int>(planned.in.count()),
                    .outputs = static_cast<int>(planned.out.count()),
                    .epilogue = ForwardEpilogue(planned.layer.activation),
                    .window = WindowOf(planned),
                    .tensors = {},
                    .state = planned.state};
    PackedTensor* to = step.tensors.data();
    for (const PlannedTensor& tensor : planned.tensors())
      AddTensor(layout, tensor.name, tensor.form->packing, to++);
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
