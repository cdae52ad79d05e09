#include "server/parameters/optimizers.h"

#include <algorithm>
#include <utility>

#include "server/parameters/apply.h"
#include "server/parameters/tensor_ranges.h"
#include "server/parameters/value_rate.h"
#include "server/parameters/weight_decay.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

/// Those that only an optimizer of this name has.
std::vector<float> OwnNumbersOf(const OptimizerSettings& o, OptimizerSettings::Name name) {
  switch (name) {
    case OptimizerSettings::Name::kAdam:
      return {o.adam.beta1, o.adam.beta2, o.adam.epsilon};
    case OptimizerSettings::Name::kRmsProp:
      return {o.rmsprop.decay, o.rmsprop.epsilon};
    case OptimizerSettings::Name::kSgd:
      return {};
    case OptimizerSettings::Name::kMomentum:
      return {o.momentum.delta};
    case OptimizerSettings::Name::kAdagrad:
      return {o.adagrad.epsilon};
  }
  MURMURATE_CHECK(false, "an optimizer has one of these names");
}

}  // namespace

OptimizerColumns ColumnsOf(OptimizerSettings::Name name) {
  switch (name) {
    case OptimizerSettings::Name::kAdam:
      return {{"first", "second"}};
    case OptimizerSettings::Name::kRmsProp:
      return {{"square"}, 1.0f};
    case OptimizerSettings::Name::kSgd:
      return {};
    case OptimizerSettings::Name::kMomentum:
      return {{"velocity"}};
    case OptimizerSettings::Name::kAdagrad:
      return {{"sum"}};
  }
  MURMURATE_CHECK(false, "an optimizer has one of these names");
}

SteppingOptimizer::SteppingOptimizer(OptimizerSettings::Name name, std::size_t count)
    : first_(ColumnsOf(name).first) {
  for (const char* column : ColumnsOf(name).names)
    columns_.push_back({column, AlignedFloats(count)});
  Forget();
}

void SteppingOptimizer::Forget() {
  steps_ = 0;
  for (Column& column : columns_) std::ranges::fill(column.numbers, first_);
}

void SteppingOptimizer::Save(const StateWriter& writer) const {
  for (const Column& column : columns_) writer.Floats(column.name, column.numbers);
  writer.Words("steps", std::span(&steps_, 1));
}

Status SteppingOptimizer::Load(const StateReader& reader) {
  for (Column& column : columns_)
    MURMURATE_RETURN_IF_ERROR(reader.Floats(column.name, column.numbers));
  return reader.Words("steps", std::span(&steps_, 1));
}

void Sgd::Step(float learning_rate, float gradient_scale, std::span<const float> gradient,
               std::span<float> parameters) {
  ++steps_;
  SgdStep({learning_rate, gradient_scale}, gradient, parameters);
}

bool Sgd::StepInto(float learning_rate, float gradient_scale, std::span<const float> from,
                   std::span<const float> gradient, std::span<float> to) const {
  return SgdStepInto({learning_rate, gradient_scale}, from, gradient, to);
}

void Adam::Step(float learning_rate, float gradient_scale, std::span<const float> gradient,
                std::span<float> parameters) {
  MURMURATE_CHECK(gradient.size() == first().size() && parameters.size() == first().size(),
                  "gradient and parameters must be as long as the optimizer's state");
  settings_.learning_rate = learning_rate;
  AdamStep(settings_, ++steps_, gradient_scale, gradient, column(0), column(1), parameters);
}

RmsProp::RmsProp(const RmsPropSettings& settings, std::size_t count)
    : SteppingOptimizer(OptimizerSettings::Name::kRmsProp, count), settings_(settings) {}

void RmsProp::Step(float learning_rate, float gradient_scale, std::span<const float> gradient,
                   std::span<float> parameters) {
  settings_.learning_rate = learning_rate;
  ++steps_;
  RmsPropStep(settings_, gradient_scale, gradient, column(0), parameters);
}

void Momentum::Step(float learning_rate, float gradient_scale, std::span<const float> gradient,
                    std::span<float> parameters) {
  ++steps_;
  MomentumStep({learning_rate, gradient_scale}, gradient, column(0), parameters);
}

void Momentum::LookAhead(std::span<float> parameters) {
  MomentumLookAhead(settings_.delta, column(0), parameters);
}

void Adagrad::Step(float learning_rate, float gradient_scale, std::span<const float> gradient,
                   std::span<float> parameters) {
  ++steps_;
  AdagradStep({learning_rate, gradient_scale}, settings_.epsilon, gradient, column(0), parameters);
}

bool IgnoresScale(OptimizerSettings::Name name) {
  return name != OptimizerSettings::Name::kSgd && name != OptimizerSettings::Name::kMomentum;
}

std::vector<float> NumbersOf(const OptimizerSettings& o, OptimizerSettings::Name name) {
  std::vector<float> numbers = OwnNumbersOf(o, name);
  numbers.push_back(o.weight_decay);
  if (o.value_rate != 1.0f) numbers.push_back(o.value_rate);
  return numbers;
}

std::unique_ptr<Optimizer> MakeOptimizer(const OptimizerSettings& settings,
                                         const ParameterLayout& layout, SectionRange range) {
  OptimizerSettings plain = settings;
  plain.weight_decay = 0.0f;
  plain.value_rate = 1.0f;
  auto optimizer = MakeOptimizer(plain, range.count);
  if (settings.weight_decay != 0.0f)
    optimizer = std::make_unique<WeightDecay>(std::move(optimizer), settings.weight_decay,
                                              RangesOf(layout, range, IsKernel));
  if (settings.value_rate != 1.0f)
    optimizer = std::make_unique<ValueRate>(std::move(optimizer), settings.value_rate,
                                            RangesOf(layout, range, IsOfLearner));
  return optimizer;
}

std::unique_ptr<Optimizer> MakeOptimizer(const OptimizerSettings& settings, std::size_t count) {
  MURMURATE_CHECK(settings.weight_decay == 0.0f && settings.value_rate == 1.0f,
                  "a layout says which parameters are kernels, and the value's");
  switch (settings.name) {
    case OptimizerSettings::Name::kAdam:
      return std::make_unique<Adam>(settings.adam, count);
    case OptimizerSettings::Name::kRmsProp:
      return std::make_unique<RmsProp>(settings.rmsprop, count);
    case OptimizerSettings::Name::kSgd:
      return std::make_unique<Sgd>();
    case OptimizerSettings::Name::kMomentum:
      return std::make_unique<Momentum>(settings.momentum, count);
    case OptimizerSettings::Name::kAdagrad:
      return std::make_unique<Adagrad>(settings.adagrad, count);
  }
  MURMURATE_CHECK(false, "an optimizer has one of these names");
}

}  // namespace murmurate
