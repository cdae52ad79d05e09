#include "server/parameters/optimizers.h"

#include <algorithm>

#include "server/parameters/apply.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

StepFactors Factors(float learning_rate, float gradient_scale, float weight_decay) {
  return {learning_rate, gradient_scale, 1 - learning_rate * weight_decay};
}

}  // namespace

SteppingOptimizer::SteppingOptimizer(std::initializer_list<const char*> names, std::size_t count,
                                     float first)
    : first_(first) {
  for (const char* name : names) columns_.push_back({name, AlignedFloats(count)});
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
  SgdStep(Factors(learning_rate, gradient_scale, settings_.weight_decay), gradient, parameters);
}

bool Sgd::StepInto(float learning_rate, float gradient_scale, std::span<const float> from,
                   std::span<const float> gradient, std::span<float> to) const {
  return SgdStepInto(Factors(learning_rate, gradient_scale, settings_.weight_decay), from, gradient,
                     to);
}

void Adam::Step(float learning_rate, float gradient_scale, std::span<const float> gradient,
                std::span<float> parameters) {
  MURMURATE_CHECK(gradient.size() == first().size() && parameters.size() == first().size(),
                  "gradient and parameters must be as long as the optimizer's state");
  settings_.learning_rate = learning_rate;
  AdamStep(settings_, ++steps_, gradient_scale, gradient, column(0), column(1), parameters);
}

RmsProp::RmsProp(const RmsPropSettings& settings, std::size_t count)
    : SteppingOptimizer({"square"}, count, 1.0f), settings_(settings) {}

void RmsProp::Step(float learning_rate, float gradient_scale, std::span<const float> gradient,
                   std::span<float> parameters) {
  settings_.learning_rate = learning_rate;
  ++steps_;
  RmsPropStep(settings_, gradient_scale, gradient, column(0), parameters);
}

void Momentum::Step(float learning_rate, float gradient_scale, std::span<const float> gradient,
                    std::span<float> parameters) {
  ++steps_;
  MomentumStep(Factors(learning_rate, gradient_scale, settings_.weight_decay), gradient, column(0),
               parameters);
}

void Momentum::LookAhead(std::span<float> parameters) {
  MomentumLookAhead(settings_.delta, column(0), parameters);
}

void Adagrad::Step(float learning_rate, float gradient_scale, std::span<const float> gradient,
                   std::span<float> parameters) {
  ++steps_;
  AdagradStep(Factors(learning_rate, gradient_scale, settings_.weight_decay), settings_.epsilon,
              gradient, column(0), parameters);
}

bool IgnoresScale(OptimizerSettings::Name name) {
  return name != OptimizerSettings::Name::kSgd && name != OptimizerSettings::Name::kMomentum;
}

std::vector<float> NumbersOf(const OptimizerSettings& o, OptimizerSettings::Name name) {
  switch (name) {
    case OptimizerSettings::Name::kAdam:
      return {o.adam.beta1, o.adam.beta2, o.adam.epsilon, o.adam.weight_decay};
    case OptimizerSettings::Name::kRmsProp:
      return {o.rmsprop.decay, o.rmsprop.epsilon, o.rmsprop.weight_decay};
    case OptimizerSettings::Name::kSgd:
      return {o.sgd.weight_decay};
    case OptimizerSettings::Name::kMomentum:
      return {o.momentum.delta, o.momentum.weight_decay};
    case OptimizerSettings::Name::kAdagrad:
      return {o.adagrad.epsilon, o.adagrad.weight_decay};
  }
  MURMURATE_CHECK(false, "an optimizer has one of these names");
}

std::unique_ptr<Optimizer> MakeOptimizer(const OptimizerSettings& settings, std::size_t count) {
  switch (settings.name) {
    case OptimizerSettings::Name::kAdam:
      return std::make_unique<Adam>(settings.adam, count);
    case OptimizerSettings::Name::kRmsProp:
      return std::make_unique<RmsProp>(settings.rmsprop, count);
    case OptimizerSettings::Name::kSgd:
      return std::make_unique<Sgd>(settings.sgd);
    case OptimizerSettings::Name::kMomentum:
      return std::make_unique<Momentum>(settings.momentum, count);
    case OptimizerSettings::Name::kAdagrad:
      return std::make_unique<Adagrad>(settings.adagrad, count);
  }
  MURMURATE_CHECK(false, "an optimizer has one of these names");
}

}  // namespace murmurate
