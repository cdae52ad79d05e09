#include "shared/inference/policy.h"

#include <algorithm>
#include <cmath>

#include "shared/core/check.h"
#include "shared/inference/policy_steps.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {
namespace {

using Element = ObservationInput::Element;

std::size_t RoundUp(std::size_t floats) { return (floats + 15) / 16 * 16; }

/// One pass of a few rows; everything lies in the caller's scratch. What flows is changed in place
/// and never copied: a copy of what was just written in parts costs a small layer a tenth.
class Pass {
 public:
  Pass(const PackedSteps& steps, int rows, float* scratch, float* states)
      : call_{steps, rows, states} {
    const std::size_t block = BlockFloats(steps, rows) / kBlocks;
    for (float** place : {&buffers_[0], &buffers_[1], &joined_, &call_.kept}) {
      *place = scratch;
      scratch += block;
    }
    call_.scratch = scratch;
  }
  /// Scratch for what flows; that of the steps follows it.
  static std::size_t BlockFloats(const PackedSteps& steps, int rows) {
    return kBlocks * RoundUp(static_cast<std::size_t>(rows) * steps.widest);
  }

  float* joined() const { return joined_; }
  const Flow& flow() const { return call_.in; }
  void Set(const Flow& flow) { call_.in = flow; }
  /// A buffer that does not hold what flows.
  float* Other() const { return call_.in.x == buffers_[0] ? buffers_[1] : buffers_[0]; }

  /// Goes through all of `steps`; the last one writes to `last`, contiguous, unless that is null.
  void Through(const std::vector<PolicyStep>& steps, float* last = nullptr) {
    for (const PolicyStep& step : steps)
      Do(step, &step == &steps.back() && last != nullptr ? last : Other());
  }

 private:
  void Do(const PolicyStep& step, float* y) {
    if (!step.takes_rows_apart && call_.in.stride != step.inputs) {
      call_.in.Copy(call_.rows, step.inputs, y, step.inputs);
      Set({y, nullptr, step.inputs});
      y = Other();
    }
    call_.out = y;
    step.op->run(step, call_);
    if (!step.op->passes) Set({y, nullptr, step.outputs});
  }

  static constexpr std::size_t kBlocks = 4;
  StepCall call_;
  float* buffers_[2] = {};
  float* joined_ = nullptr;
};

}  // namespace

struct Policy::Packed {
  Packed(const ModelSpec& model, KernelSet set)
      : spec(model), steps(model, set), observation(StackedObservation(model)) {}

  void PackStatistics();
  void Begin(Pass* pass, std::size_t i, const std::byte* row, int rows) const;
  void Join(Pass* pass, const std::byte* row, int rows) const;

  const ModelSpec spec;
  PackedSteps steps;
  const ObservationLayout observation;
  std::vector<AlignedFloats> mean, scale;  ///< of each input; empty where it is not normalized
  AlignedFloats statistics;                ///< as they came
  std::size_t policy_count = 0, mean_source = 0, variance_source = 0;
};

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
void Policy::Packed::Begin(Pass* pass, std::size_t i, const std::byte* row, int rows) const {
  const ObservationInput& input = observation.inputs()[i];
  const std::ptrdiff_t row_bytes = static_cast<std::ptrdiff_t>(observation.row_bytes());
  const std::byte* from = row + input.offset_bytes;
  const int count = input.encoded_count();
  float* const to = pass->Other();
  if (input.element == Element::kFloat32) {
    const float* x = reinterpret_cast<const float*>(from);
    const std::ptrdiff_t stride = row_bytes / std::ptrdiff_t{sizeof(float)};
    if (mean.empty()) return pass->Set({x, nullptr, stride});
    const int at_once = stride == count ? rows : 1;
    for (int r = 0; r < rows; r += at_once) {
      steps.kernels->dense->normalize(at_once, count, x + r * stride, mean[i].data(),
                                      scale[i].data(), to + std::ptrdiff_t{r} * count);
    }
  } else if (input.element == Element::kUint8) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(from);
    const auto& first = steps.inputs[i];
    if (!first.empty() && FormOf(first.front().kind).takes_bytes)
      return pass->Set({nullptr, bytes, row_bytes});
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
  pass->Set({to, nullptr, count});
}

/// All inputs, each through its own steps, side by side.
void Policy::Packed::Join(Pass* pass, const std::byte* row, int rows) const {
  const auto& inputs = steps.plan.inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Begin(pass, i, row, rows);
    pass->Through(steps.inputs[i]);
    if (inputs.size() == 1) return;
    pass->flow().Copy(rows, inputs[i].features, pass->joined() + inputs[i].first_feature,
                      steps.plan.joined);
  }
  pass->Set({pass->joined(), nullptr, steps.plan.joined});
}

Policy::Policy(const ModelSpec& spec, KernelSet set)
    : packed_(std::make_unique<Packed>(spec, set)) {
  const ParameterLayout layout(spec);
  Packed& p = *packed_;
  p.policy_count = layout.published.count;
  p.statistics = AlignedFloats(layout.statistics.count);
  if (spec.normalized_count() == 0) return;
  p.mean.resize(p.steps.plan.inputs.size());
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
    for (const PolicyStep& step : steps)
      if (step.op->scratch_floats != nullptr)
        largest = std::max(largest, step.op->scratch_floats(step, at_once));
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
    p.Join(&pass, row, count);
    pass.Through(p.steps.trunk, outputs);
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
