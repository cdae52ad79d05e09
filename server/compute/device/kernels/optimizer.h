#pragma once

#include "server/compute/device/calls/optimizer.h"
#include "server/compute/device/kernel_language.h"
#include "server/compute/device/kernels/loss.h"

namespace murmurate {

MURMURATE_DEVICE bool LeavesParameters(const TrainingControl& control) {
  return control.stopped != 0 || control.scores != 0;
}

MURMURATE_KERNEL(GradientNorm) {
  MURMURATE_SHARED(double, parts, 32);
  if (LeavesParameters(*call.control)) return;
  double policy = 0.0, value = 0.0;
  for (std::size_t i = GlobalThread(); i < call.count; i += AllThreads()) {
    const double square = double{call.gradient[i] * call.gradient[i]};
    (i < call.value_begin ? policy : value) += square;
  }
  const double own[2] = {policy, value};
  LeaveSums(own, 2, parts, call.parts + Block() * 2);
}

/// The numbers of step `t` for a gradient of that norm.
MURMURATE_DEVICE StepNumbers StepOf(const OptimizerNumbers& numbers, float rate, double norm,
                                    std::uint64_t t) {
  StepNumbers step{1, rate, 1.0f, rate, 1.0f, 1.0f - rate * numbers.weight_decay};
  if (numbers.max_grad_norm > 0.0 && norm > numbers.max_grad_norm)
    step.scale = static_cast<float>(numbers.max_grad_norm / norm);
  if (numbers.rule != DeviceOptimizerRule::kAdam) return step;
  const double steps = static_cast<double>(t);
  step.adam_rate = static_cast<float>(double{rate} / (1.0 - pow(double{numbers.beta1}, steps)));
  step.root = static_cast<float>(1.0 / sqrt(1.0 - pow(double{numbers.beta2}, steps)));
  return step;
}

MURMURATE_KERNEL(FinishNorm) {
  MURMURATE_SHARED(double, parts, 32);
  TrainingControl* const control = call.control;
  if (Thread() == 0) call.step->steps = 0;
  if (LeavesParameters(*control)) return;  // no parts were left
  double squares[2];
  for (int i = 0; i < 2; ++i) squares[i] = SumOfParts(call.parts + i, call.blocks, 2, parts);
  if (Thread() != 0) return;
  control->norm = sqrt(squares[0] + squares[1]);
  for (int i = 0; i < 2; ++i) {
    control->part_norms[i] = sqrt(squares[i]);
    if (call.norm_sums >= 0) control->sums[call.norm_sums + i] += control->part_norms[i];
  }
  // As on the processor, a norm above the largest float is not finite; NaN fails the comparison, too.
  control->finite = control->norm <= 3.4028234663852886e38 ? 1 : 0;
  if (control->finite == 0) {
    ++control->skipped;
    return;
  }
  ++control->updates;
  control->norms += control->norm;
  *call.step =
      StepOf(call.numbers, control->learning_rate, control->norm, ++control->optimizer_steps);
}

/// What the rule makes of the parameter; momentum's look-ahead is not part of it.
MURMURATE_DEVICE float Stepped(const OptimizerNumbers& numbers, const StepNumbers& step, float g,
                               float p, float* first, float* second) {
  g *= step.scale;
  switch (numbers.rule) {
    case DeviceOptimizerRule::kAdam: {
      const float m = *first + (1.0f - numbers.beta1) * (g - *first);
      const float v = *second + (1.0f - numbers.beta2) * (g * g - *second);
      *first = m;
      *second = v;
      return p - step.adam_rate * m / (sqrtf(v) * step.root + numbers.epsilon);
    }
    case DeviceOptimizerRule::kRmsProp: {
      const float v = *first + (1.0f - numbers.beta1) * (g * g - *first);
      *first = v;
      return p - step.rate * g / sqrtf(v + numbers.epsilon);
    }
    case DeviceOptimizerRule::kMomentum: {
      const float move = step.rate * g;
      *first -= move;
      return p - move;
    }
    case DeviceOptimizerRule::kAdagrad: {
      const float squares = *first + g * g;
      *first = squares;
      return p - step.rate * g / (sqrtf(squares) + numbers.epsilon);
    }
    default:
      return p - step.rate * g;
  }
}

/// A move at the number's own rate.
MURMURATE_DEVICE float Moved(float before, float after, bool value, float value_rate) {
  return value ? before + value_rate * (after - before) : after;
}

MURMURATE_KERNEL(StepParameters) {
  const std::size_t i = GlobalThread();
  const StepNumbers& step = *call.step;
  if (i >= call.count || step.steps == 0) return;
  const std::uint8_t number = call.number == nullptr ? 0 : call.number[i];
  const bool value = (number & kValueNumber) != 0;
  const float before = call.parameters[i];
  if (call.before != nullptr) call.before[i] = before;
  const float kept = (number & kKernelNumber) != 0 ? step.kept * before : before;
  float* const first = call.first == nullptr ? nullptr : call.first + i;
  float* const second = call.second == nullptr ? nullptr : call.second + i;
  const float stepped = Stepped(call.numbers, step, call.gradient[i], kept, first, second);
  float p = Moved(before, stepped, value, call.numbers.value_rate);
  if (call.numbers.rule == DeviceOptimizerRule::kMomentum) {
    *first *= call.numbers.beta1;
    p = Moved(p, p + *first, value, call.numbers.value_rate);
  }
  call.parameters[i] = p;
}

MURMURATE_KERNEL(ShortenStep) {
  const std::size_t i = GlobalThread();
  const double most = double{call.control->most_kl}, kl = call.control->kl;
  if (i >= call.count || call.step->steps == 0 || !(most > 0.0 && kl > most)) return;
  const float part = static_cast<float>(sqrt(most / kl)), before = call.before[i];
  call.parameters[i] = before + part * (call.parameters[i] - before);
}

MURMURATE_KERNEL(FillNumbers) {
  for (std::size_t i = GlobalThread(); i < call.count; i += AllThreads()) call.to[i] = call.value;
}

}  // namespace murmurate
