#include "shared/inference/policy.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "shared/compute/convolution.h"
#include "shared/compute/gru.h"
#include "shared/compute/layer_norm.h"
#include "shared/compute/lstm.h"
#include "shared/compute/max_pool.h"
#include "shared/compute/packed_weight.h"
#include "shared/core/check.h"
#include "shared/inference/packed_steps.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {
namespace {

using Kind = PolicyStep::Kind;
using Element = ObservationInput::Element;

std::size_t RoundUp(std::size_t floats) { return (floats + 15) / 16 * 16; }

/// Rows of numbers on their way through the steps; `bytes` instead of x only before a conv.
struct Flow {
  const float* x = nullptr;
  const std::uint8_t* bytes = nullptr;
  std::ptrdiff_t stride = 0;  ///< elements from one row to the next
};

/// One pass of a few rows; everything lies in the caller's scratch.
class Pass {
 public:
  Pass(const PackedSteps& steps, int rows, float* scratch, float* states)
      : steps_(steps), rows_(rows), states_(states) {
    const std::size_t block = BlockFloats(steps, rows) / kBlocks;
    for (float** place : {&buffers_[0], &buffers_[1], &joined_, &kept_}) {
      *place = scratch;
      scratch += block;
    }
    scratch_ = scratch;
  }
  /// Scratch for what flows; that of the steps follows it.
  static std::size_t BlockFloats(const PackedSteps& steps, int rows) {
    return kBlocks * RoundUp(static_cast<std::size_t>(rows) * steps.widest);
  }

  float* joined() const { return joined_; }
  /// A buffer that does not hold what flows.
  float* Other(const Flow& flow) const { return flow.x == buffers_[0] ? buffers_[1] : buffers_[0]; }

  /// Through all of `steps`; the last one writes to `last`, contiguous, unless that is null.
  void Through(const std::vector<PolicyStep>& steps, Flow* flow, float* last = nullptr) {
    for (const PolicyStep& step : steps) {
      float* y = &step == &steps.back() && last != nullptr ? last : Other(*flow);
      Do(step, flow, y);
    }
  }
  void Copy(const Flow& flow, int count, float* to, std::ptrdiff_t to_stride) const {
    for (int row = 0; row < rows_; ++row) {
      std::memcpy(to + row * to_stride, flow.x + row * flow.stride,
                  static_cast<std::size_t>(count) * sizeof(float));
    }
  }

 private:
  void Do(const PolicyStep& step, Flow* flow, float* y) {
    switch (step.kind) {
      case Kind::kProduct:
        Multiply(step, *flow, y);
        break;
      case Kind::kConv:
        Convolve(step, *flow, y);
        break;
      case Kind::kKeep:
        Copy(*flow, step.inputs, kept_, step.inputs);
        return;
      default:
        if (flow->stride != step.inputs) {
          Copy(*flow, step.inputs, y, step.inputs);
          *flow = {y, nullptr, step.inputs};
          y = Other(*flow);
        }
        DoContiguous(step, *flow, y);
    }
    *flow = {y, nullptr, step.outputs};
  }

  void DoContiguous(const PolicyStep& step, const Flow& flow, float* y) {
    const LayerKernels& kernels = *steps_.kernels;
    const std::size_t numbers = static_cast<std::size_t>(rows_) * step.inputs;
    switch (step.kind) {
      case Kind::kPool:
        return MaxPoolForward(
            {.window = step.window, .images = rows_, .input = flow.x, .output = y}, kernels);
      case Kind::kNorm: {
        const int columns = step.tensors[0].columns;
        return LayerNormForward({.rows = static_cast<int>(numbers) / columns,
                                 .columns = columns,
                                 .input = flow.x,
                                 .gain = steps_.data(step.tensors[0]),
                                 .shift = steps_.data(step.tensors[1]),
                                 .output = y},
                                kernels);
      }
      case Kind::kApply:
        std::copy_n(flow.x, numbers, y);
        return kernels.apply(step.epilogue, numbers, nullptr, y);
      case Kind::kAdd:
        std::copy_n(flow.x, numbers, y);
        return kernels.add(numbers, kept_, y);
      default:
        return Recur(step, flow, y);
    }
  }

  void Multiply(const PolicyStep& step, const Flow& flow, float* y) const {
    const PackedTensor& weight = step.tensors[0];
    GemmCall call = {.rows = rows_,
                     .columns = step.outputs,
                     .depth = step.inputs,
                     .a = flow.x,
                     .a_row_stride = flow.stride,
                     .c = y,
                     .c_row_stride = step.outputs,
                     .bias = steps_.data(step.tensors[1]),
                     .epilogue = step.epilogue};
    if (weight.form == PackedTensor::Form::kTransposed) {
      call.b_transposed = steps_.data(weight);
      return steps_.kernels->dense->gemm(call);
    }
    call.b = steps_.data(weight);
    call.b_row_stride = step.outputs;
    if (weight.form == PackedTensor::Form::kAsItIs) return steps_.kernels->dense->gemm(call);
    PackedGemm(call, *steps_.kernels->dense);
  }

  void Convolve(const PolicyStep& step, const Flow& flow, float* y) const {
    ConvForward({.window = step.window,
                 .filters = step.tensors[0].columns,
                 .images = rows_,
                 .input = flow.x,
                 .bytes = flow.bytes,
                 .weight = steps_.data(step.tensors[0]),
                 .bias = steps_.data(step.tensors[1]),
                 .epilogue = step.epilogue,
                 .output = y,
                 .scratch = scratch_,
                 .image_stride = flow.stride},
                *steps_.kernels);
  }

  /// One row at a time where the states of several layers lie between each other.
  void Recur(const PolicyStep& step, const Flow& flow, float* y) const {
    MURMURATE_CHECK(states_ != nullptr, "a recurrent model needs its agents' states");
    const int own = step.kind == Kind::kLstm ? 2 * step.outputs : step.outputs;
    const int at_once = own == steps_.plan.state_floats ? rows_ : 1;
    for (int row = 0; row < rows_; row += at_once) {
      const float* x = flow.x + std::ptrdiff_t{row} * step.inputs;
      float* state = states_ + std::ptrdiff_t{row} * steps_.plan.state_floats + step.state;
      RecurRows(step, at_once, x, state, y + std::ptrdiff_t{row} * step.outputs);
    }
  }
  void RecurRows(const PolicyStep& step, int rows, const float* x, float* state, float* y) const {
    const auto tensor = [&](int i) { return steps_.data(step.tensors[i]); };
    if (step.kind == Kind::kLstm) {
      return LstmStep({.rows = rows,
                       .inputs = step.inputs,
                       .hidden = step.outputs,
                       .x = x,
                       .input_weight = tensor(0),
                       .hidden_weight = tensor(1),
                       .packed = true,
                       .bias = tensor(2),
                       .state = state,
                       .output = y,
                       .scratch = scratch_},
                      *steps_.kernels);
    }
    GruStep({.rows = rows,
             .inputs = step.inputs,
             .hidden = step.outputs,
             .x = x,
             .input_weight = tensor(0),
             .hidden_weight = tensor(1),
             .packed = true,
             .bias = tensor(2),
             .hidden_bias = tensor(3),
             .state = state,
             .output = y,
             .scratch = scratch_},
            *steps_.kernels);
  }

  static constexpr std::size_t kBlocks = 4;
  const PackedSteps& steps_;
  const int rows_;
  float* const states_;
  float* buffers_[2] = {};
  float *joined_ = nullptr, *kept_ = nullptr, *scratch_ = nullptr;
};

}  // namespace

struct Policy::Packed {
  Packed(const ModelSpec& model, KernelSet set)
      : spec(model), steps(model, set), observation(StackedObservation(model)) {}

  std::size_t StepScratch(const PolicyStep& step, int rows) const;
  void PackStatistics();
  Flow Take(const Pass& pass, std::size_t i, const std::byte* row, int rows) const;
  Flow Join(Pass* pass, const std::byte* row, int rows) const;

  const ModelSpec spec;
  PackedSteps steps;
  const ObservationLayout observation;
  std::vector<AlignedFloats> mean, scale;  ///< of each input; empty where it is not normalized
  AlignedFloats statistics;                ///< as they came
  std::size_t policy_count = 0, mean_source = 0, variance_source = 0;
};

std::size_t Policy::Packed::StepScratch(const PolicyStep& step, int rows) const {
  if (step.kind == Kind::kConv) return ConvForwardScratchFloats(step.window, rows);
  if (step.kind == Kind::kLstm) return LstmStepScratchFloats(rows, step.outputs);
  return step.kind == Kind::kGru ? GruStepScratchFloats(rows, step.outputs) : 0;
}

/// The statistics are of one frame; a stacked input has each of them for every frame.
void Policy::Packed::PackStatistics() {
  if (mean.empty()) return;
  const float* mean_of = statistics.data() + mean_source;
  const float* variance_of = statistics.data() + variance_source;
  for (std::size_t i = 0; i < mean.size(); ++i) {
    if (mean[i].size() == 0) continue;
    const int channels = observation.inputs()[i].shape.back();
    const int frame = channels / steps.plan.inputs[i].stack;
    const int count = observation.inputs()[i].elements;
    for (int j = 0; j < count; ++j) {
      const int source = j / channels * frame + j % frame;
      mean[i][j] = mean_of[source];
      scale[i][j] = 1.0f / std::sqrt(variance_of[source] + 1e-8f);
    }
    mean_of += count / channels * frame;
    variance_of += count / channels * frame;
  }
}

/// Input i of some rows, ready for its first step.
Flow Policy::Packed::Take(const Pass& pass, std::size_t i, const std::byte* row, int rows) const {
  const ObservationInput& input = observation.inputs()[i];
  const std::ptrdiff_t row_bytes = static_cast<std::ptrdiff_t>(observation.row_bytes());
  const std::byte* from = row + input.offset_bytes;
  const int count = input.encoded_count();
  float* const to = pass.Other({});
  if (input.element == Element::kFloat32) {
    const float* x = reinterpret_cast<const float*>(from);
    const std::ptrdiff_t stride = row_bytes / std::ptrdiff_t{sizeof(float)};
    if (mean.empty()) return {x, nullptr, stride};
    const int at_once = stride == count ? rows : 1;
    for (int r = 0; r < rows; r += at_once) {
      steps.kernels->dense->normalize(at_once, count, x + r * stride, mean[i].data(),
                                      scale[i].data(), to + std::ptrdiff_t{r} * count);
    }
  } else if (input.element == Element::kUint8) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(from);
    const auto& first = steps.inputs[i];
    if (!first.empty() && first.front().kind == Kind::kConv) return {nullptr, bytes, row_bytes};
    for (int r = 0; r < rows; ++r) {
      steps.kernels->widen(static_cast<std::size_t>(count), bytes + r * row_bytes,
                           to + std::ptrdiff_t{r} * count);
    }
  } else {
    std::fill_n(to, std::ptrdiff_t{rows} * count, 0.0f);
    for (int r = 0; r < rows; ++r) {
      float* hot = to + std::ptrdiff_t{r} * count;
      const auto* category = reinterpret_cast<const std::int32_t*>(from + r * row_bytes);
      for (int j = 0; j < input.elements; hot += input.categories[j++]) hot[category[j]] = 1.0f;
    }
  }
  return {to, nullptr, count};
}

Flow Policy::Packed::Join(Pass* pass, const std::byte* row, int rows) const {
  const auto& inputs = steps.plan.inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Flow flow = Take(*pass, i, row, rows);
    pass->Through(steps.inputs[i], &flow);
    if (inputs.size() == 1) return flow;
    pass->Copy(flow, inputs[i].features, pass->joined() + inputs[i].first_feature,
               steps.plan.joined);
  }
  return {pass->joined(), nullptr, steps.plan.joined};
}

Policy::Policy(const ModelSpec& spec, KernelSet set)
    : packed_(std::make_unique<Packed>(spec, set)) {
  const ParameterLayout layout(spec);
  Packed& p = *packed_;
  p.policy_count = layout.published.count;
  p.statistics = AlignedFloats(layout.statistics.count);
  if (spec.normalized_count() == 0) return;
  p.mean.resize(p.observation.inputs().size());
  p.scale.resize(p.mean.size());
  for (std::size_t i = 0; i < p.mean.size(); ++i) {
    const ObservationInput& input = p.observation.inputs()[i];
    if (input.element != Element::kFloat32) continue;
    p.mean[i] = AlignedFloats(input.elements);
    p.scale[i] = AlignedFloats(input.elements);
  }
  p.mean_source = layout.Find("statistics.observation.mean").offset - layout.statistics.offset;
  p.variance_source =
      layout.Find("statistics.observation.variance").offset - layout.statistics.offset;
}

Policy::~Policy() = default;
Policy::Policy(Policy&&) noexcept = default;

void Policy::Pack(std::span<const float> policy, std::span<const float> statistics) {
  Packed& p = *packed_;
  MURMURATE_CHECK(policy.size() == p.policy_count, "another layout's policy section");
  MURMURATE_CHECK(statistics.size() == p.statistics.size(), "another layout's statistics section");
  PackPart(0, policy);
  if (!statistics.empty()) PackPart(p.policy_count, statistics);
}

void Policy::PackPart(std::size_t first, std::span<const float> numbers) {
  Packed& p = *packed_;
  const std::size_t end = first + numbers.size();
  MURMURATE_CHECK(end <= p.policy_count + p.statistics.size(), "more numbers than the layout has");
  const std::size_t ours = first < p.policy_count ? std::min(end, p.policy_count) - first : 0;
  p.steps.Pack(first, numbers.first(ours));
  if (ours == numbers.size()) return;
  const std::span<const float> rest = numbers.subspan(ours);
  std::copy(rest.begin(), rest.end(), p.statistics.data() + (first + ours - p.policy_count));
  if (end == p.policy_count + p.statistics.size()) p.PackStatistics();
}

void Policy::Unpack(std::span<float> policy, std::span<float> statistics) const {
  const Packed& p = *packed_;
  MURMURATE_CHECK(policy.size() == p.policy_count, "another layout's policy section");
  MURMURATE_CHECK(statistics.size() == p.statistics.size(), "another layout's statistics section");
  p.steps.Unpack(policy);
  std::copy(p.statistics.begin(), p.statistics.end(), statistics.begin());
}

std::size_t Policy::ScratchFloats(int rows) const {
  const Packed& p = *packed_;
  const int at_once = std::min(rows, p.steps.rows_at_once);
  std::size_t largest = 0;
  const auto look = [&](const std::vector<PolicyStep>& steps) {
    for (const PolicyStep& step : steps) largest = std::max(largest, p.StepScratch(step, at_once));
  };
  for (const auto& steps : p.steps.inputs) look(steps);
  look(p.steps.trunk);
  return Pass::BlockFloats(p.steps, at_once) + RoundUp(largest);
}

void Policy::Forward(const void* observations, int rows, float* outputs, float* scratch,
                     float* states) const {
  const Packed& p = *packed_;
  const int at_once = std::min(rows, p.steps.rows_at_once);
  const auto* row = static_cast<const std::byte*>(observations);
  for (int first = 0; first < rows; first += at_once) {
    const int count = std::min(at_once, rows - first);
    Pass pass(p.steps, count, scratch, states);
    Flow flow = p.Join(&pass, row, count);
    pass.Through(p.steps.trunk, &flow, outputs);
    row += static_cast<std::size_t>(count) * p.observation.row_bytes();
    outputs += std::ptrdiff_t{count} * this->outputs();
    if (states != nullptr) states += std::ptrdiff_t{count} * state_floats();
  }
}

int Policy::outputs() const { return packed_->steps.trunk.back().outputs; }
int Policy::state_floats() const { return packed_->steps.plan.state_floats; }
const float* Policy::log_deviations() const {
  const PackedSteps& steps = packed_->steps;
  return steps.deviations.columns > 0 ? steps.data(steps.deviations) : nullptr;
}

}  // namespace murmurate
