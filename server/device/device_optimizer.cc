#include "server/device/device_optimizer.h"

#include <algorithm>

#include "server/learn/on_policy.h"
#include "server/parameters/optimizers.h"
#include "server/parameters/tensor_ranges.h"
#include "server/parameters/value_rate.h"
#include "server/parameters/weight_decay.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr std::uint32_t kThreads = 256;
/// Every block of the step adds up what those of the norm left: 4 KB at most. As many blocks as a
/// large GPU has at once.
constexpr std::uint32_t kMostNormBlocks = 256, kMostStepBlocks = 8 * 132;

DeviceOptimizerRule RuleOf(OptimizerSettings::Name name) {
  switch (name) {
    case OptimizerSettings::Name::kAdam:
      return DeviceOptimizerRule::kAdam;
    case OptimizerSettings::Name::kRmsProp:
      return DeviceOptimizerRule::kRmsProp;
    case OptimizerSettings::Name::kSgd:
      return DeviceOptimizerRule::kSgd;
    case OptimizerSettings::Name::kMomentum:
      return DeviceOptimizerRule::kMomentum;
    case OptimizerSettings::Name::kAdagrad:
      return DeviceOptimizerRule::kAdagrad;
  }
  MURMURATE_CHECK(false, "an optimizer has one of these names");
}

OptimizerNumbers NumbersFor(const AlgorithmSettings& settings) {
  const OptimizerSettings o = OptimizerOf(settings);
  OptimizerNumbers numbers{.rule = RuleOf(o.name),
                           .beta1 = 0.0f,
                           .beta2 = 0.0f,
                           .epsilon = 0.0f,
                           .weight_decay = o.weight_decay,
                           .value_rate = o.value_rate,
                           .max_grad_norm = settings.max_grad_norm};
  if (o.name == OptimizerSettings::Name::kAdam) {
    numbers.beta1 = o.adam.beta1;
    numbers.beta2 = o.adam.beta2;
    numbers.epsilon = o.adam.epsilon;
  } else if (o.name == OptimizerSettings::Name::kRmsProp) {
    numbers.beta1 = o.rmsprop.decay;
    numbers.epsilon = o.rmsprop.epsilon;
  } else if (o.name == OptimizerSettings::Name::kMomentum) {
    numbers.beta1 = o.momentum.delta;
  } else if (o.name == OptimizerSettings::Name::kAdagrad) {
    numbers.epsilon = o.adagrad.epsilon;
  }
  return numbers;
}

/// Empty: the step is the same for all numbers.
std::vector<std::uint8_t> KindsOf(const ParameterLayout& layout, const OptimizerNumbers& numbers) {
  std::vector<std::uint8_t> kinds;
  if (numbers.weight_decay == 0.0f && numbers.value_rate == 1.0f) return kinds;
  const SectionRange all{0, layout.trained_count()};
  kinds.resize(all.count);
  const auto mark = [&](bool (*chosen)(const TensorSlot&), std::uint8_t kind) {
    for (const SectionRange& range : RangesOf(layout, all, chosen))
      for (std::size_t i = 0; i < range.count; ++i) kinds[range.offset + i] |= kind;
  };
  if (numbers.weight_decay != 0.0f) mark(IsKernel, kKernelNumber);
  if (numbers.value_rate != 1.0f) mark(IsOfLearner, kValueNumber);
  return kinds;
}

}  // namespace

Grid GradientNormGrid(std::size_t count) {
  Grid grid = Grid::For((count + 3) / 4, kThreads);
  grid.blocks = std::min(grid.blocks, kMostNormBlocks);
  return grid;
}

DeviceOptimizer::DeviceOptimizer(const ParameterLayout& layout, const AlgorithmSettings& settings,
                                 int norm_sums, DeviceMemory* memory)
    : numbers_(NumbersFor(settings)),
      count_(layout.trained_count()),
      value_begin_(ValueBegin(layout)),
      norm_sums_(norm_sums),
      names_(ColumnsOf(settings.optimizer).names),
      first_value_(ColumnsOf(settings.optimizer).first),
      kinds_(KindsOf(layout, numbers_)) {
  const MemoryPurpose purpose = MemoryPurpose::kParameters;
  columns_ = memory->Plan<float>(purpose, names_.size() * count_);
  before_ = memory->Plan<float>(purpose, settings.target_kl > 0.0 ? count_ : 0);
  number_ = memory->Plan<std::uint8_t>(purpose, kinds_.size());
  parts_ = memory->Plan<double>(MemoryPurpose::kWorkspace,
                                std::size_t{2} * GradientNormGrid(count_).blocks);
  step_ = memory->Plan<StepNumbers>(MemoryPurpose::kWorkspace, 1);
}

float* DeviceOptimizer::column(std::size_t i) const {
  return i < names_.size() ? columns_.data() + i * count_ : nullptr;
}

Grid DeviceOptimizer::grid() const { return Grid::For(count_, kThreads); }

void DeviceOptimizer::Upload(Device* device, Stream stream) const {
  if (!kinds_.empty()) device->CopyIn(stream, number_.data(), kinds_.data(), number_.bytes());
}

void DeviceOptimizer::EnqueueForget(Device* device, Stream stream, TrainingControl* control) const {
  device->ClearMemory(stream, &control->optimizer_steps, sizeof control->optimizer_steps);
  if (columns_.size() == 0) return;
  device->Launch(
      stream, Grid::For(columns_.size(), kThreads),
      FillNumbersCall{.to = columns_.data(), .count = columns_.size(), .value = first_value_});
}

void DeviceOptimizer::EnqueueStep(Device* device, Stream stream, TrainingControl* control,
                                  const float* gradient, float* parameters,
                                  const float* joined) const {
  const Grid norm = GradientNormGrid(count_);
  device->Launch(stream, norm,
                 GradientNormCall{.control = control,
                                  .gradient = gradient,
                                  .count = count_,
                                  .value_begin = value_begin_,
                                  .parts = parts_.data(),
                                  .joined = joined});
  Grid step = grid();
  step.blocks = std::min(step.blocks, kMostStepBlocks);
  device->Launch(stream, step,
                 StepParametersCall{.control = control,
                                    .parts = parts_.data(),
                                    .part_count = static_cast<int>(norm.blocks),
                                    .norm_sums = joined == nullptr ? norm_sums_ : -1,
                                    .joined = joined,
                                    .step = step_.data(),
                                    .numbers = numbers_,
                                    .count = count_,
                                    .gradient = gradient,
                                    .parameters = parameters,
                                    .first = column(0),
                                    .second = column(1),
                                    .before = before_.data(),
                                    .number = number_.data()});
}

void DeviceOptimizer::EnqueueShorten(Device* device, Stream stream, const TrainingControl* control,
                                     float* parameters) const {
  MURMURATE_CHECK(before_.size() > 0, "a step is shortened where target_kl says so");
  device->Launch(stream, grid(),
                 ShortenStepCall{.control = control,
                                 .step = step_.data(),
                                 .count = count_,
                                 .before = before_.data(),
                                 .parameters = parameters});
}

void DeviceOptimizer::EnqueueSave(Device* device, Stream stream, float* to) const {
  if (columns_.size() > 0) device->CopyOut(stream, to, columns_.data(), columns_.bytes());
}

void DeviceOptimizer::EnqueueLoad(Device* device, Stream stream, const float* from) const {
  if (columns_.size() > 0) device->CopyIn(stream, columns_.data(), from, columns_.bytes());
}

void DeviceOptimizer::Save(const StateWriter& writer, std::span<const float> state,
                           std::uint64_t steps) const {
  MURMURATE_CHECK(state.size() == columns_.size(), "the whole state");
  for (std::size_t i = 0; i < names_.size(); ++i)
    writer.Floats(names_[i], state.subspan(i * count_, count_));
  writer.Words("steps", std::span(&steps, 1));
}

Status DeviceOptimizer::Load(const StateReader& reader, std::span<float> state,
                             std::uint64_t* steps) const {
  MURMURATE_CHECK(state.size() == columns_.size(), "the whole state");
  for (std::size_t i = 0; i < names_.size(); ++i)
    MURMURATE_RETURN_IF_ERROR(reader.Floats(names_[i], state.subspan(i * count_, count_)));
  return reader.Words("steps", std::span(steps, 1));
}

}  // namespace murmurate
