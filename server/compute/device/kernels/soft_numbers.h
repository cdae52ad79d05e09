#pragma once

#include "server/compute/device/calls/soft_numbers.h"
#include "server/compute/device/kernel_language.h"
#include "server/compute/device/kernels/replay.h"

namespace murmurate {

/// One number of an action, drawn; gives its part of log pi.
MURMURATE_DEVICE double DrawNumber(const HeadColumn& column, const float* outputs, float noise,
                                   float* action, float* spread) {
  constexpr float kHalfLogTwoPi = 0.918938533f, kLog2 = 0.693147181f;
  const float log_deviation = Clamped(outputs[column.deviation], -20.0f, 2.0f);
  *spread = expf(log_deviation) * noise;
  const float u = outputs[column.output] + *spread, two = -2.0f * u;
  *action = tanhf(u);
  const float softplus = (two > 0.0f ? two : 0.0f) + log1pf(expf(-fabsf(two)));
  return double{-0.5f * noise * noise - log_deviation - kHalfLogTwoPi} -
         2.0 * double{kLog2 - u - softplus};
}

MURMURATE_KERNEL(DrawNumbers) {
  const std::size_t row = GlobalThread(), rows = static_cast<std::size_t>(call.rows);
  if (row >= 2 * rows) return;
  const auto numbers = static_cast<std::size_t>(call.head.column_count);
  const float* const outputs = call.outputs + row * static_cast<std::size_t>(call.head.outputs);
  const float* const noise =
      OfReplay<float>(call.lists, call.control, call.noise_at) + row * numbers;
  double log_prob = 0.0;
  for (std::size_t k = 0; k < numbers; ++k)
    log_prob += DrawNumber(call.head.columns[k], outputs, noise[k], call.action + row * numbers + k,
                           call.spread + row * numbers + k);
  call.log_prob[row] = log_prob;
  if (row >= rows) return;
  const std::int32_t* const recorded =
      OfReplay<std::int32_t>(call.lists, call.control, call.lists.action_at) + row * numbers;
  for (std::size_t k = 0; k < numbers; ++k)
    call.recorded[row * numbers + k] = tanhf(RecordedNumber(recorded[k]));
}

/// What both critics' values of a step are to be.
MURMURATE_DEVICE float SoftTarget(const CriticLossCall& call, std::size_t i) {
  const float reward = OfReplay<float>(call.lists, call.control, call.lists.reward_at)[i];
  const float discount = OfReplay<float>(call.lists, call.control, call.lists.discount_at)[i];
  if (!(discount > 0.0f)) return reward;
  const float one = call.target_q[0][i], other = call.target_q[1][i];
  const double value =
      double{other < one ? other : one} -
      exp(call.state->log_alpha) * call.log_prob[static_cast<std::size_t>(call.rows) + i];
  return reward + static_cast<float>(double{discount} * value);
}

MURMURATE_DEVICE void CriticLossOfStep(const CriticLossCall& call, std::size_t i, int steps,
                                       double* sums) {
  const double target = double{SoftTarget(call, i)};
  const double weight = double{OfReplay<float>(call.lists, call.control, call.lists.weight_at)[i]};
  for (int critic = 0; critic < 2; ++critic) {
    const double value = double{call.q[critic][i]}, error = value - target;
    call.d_q[critic][i] = static_cast<float>(weight * error / steps);
    sums[1] += 0.25 * weight * error * error;
    sums[2] += 0.5 * value;
    sums[3] += 0.5 * fabs(error);
  }
  sums[0] = 1.0;
  call.distance[call.control->pass * static_cast<std::size_t>(call.rows) + i] =
      static_cast<float>(sums[3]);
}

MURMURATE_KERNEL(CriticLoss) {
  MURMURATE_SHARED(double, parts, 32);
  const int steps = OfReplay<ReplayHead>(call.lists, call.control, call.lists.head_at)->steps;
  const std::size_t row = GlobalThread();
  double sums[kReplaySums] = {};
  if (row < static_cast<std::size_t>(steps)) {
    CriticLossOfStep(call, row, steps, sums);
  } else if (row < static_cast<std::size_t>(call.rows)) {
    call.d_q[0][row] = call.d_q[1][row] = 0.0f;
  }
  LeaveSums(sums, kReplaySums, parts, call.parts + Block() * kReplaySums);
}

MURMURATE_KERNEL(PolicyValue) {
  MURMURATE_SHARED(double, parts, 32);
  const int steps = OfReplay<ReplayHead>(call.lists, call.control, call.lists.head_at)->steps;
  const std::size_t row = GlobalThread();
  double sums[PolicyValueCall::kSums] = {};
  if (row < static_cast<std::size_t>(call.rows)) {
    const int smaller = call.q[1][row] < call.q[0][row] ? 1 : 0;
    const bool counts = row < static_cast<std::size_t>(steps);
    call.d_q[smaller][row] = counts ? static_cast<float>(-1.0 / steps) : 0.0f;
    call.d_q[1 - smaller][row] = 0.0f;
    sums[0] = counts ? call.log_prob[row] : 0.0;
    sums[1] = counts ? double{call.q[smaller][row]} : 0.0;
  }
  LeaveSums(sums, PolicyValueCall::kSums, parts, call.parts + Block() * PolicyValueCall::kSums);
}

MURMURATE_KERNEL(NumbersGradient) {
  const std::size_t row = GlobalThread();
  if (row >= static_cast<std::size_t>(call.rows)) return;
  const int steps = OfReplay<ReplayHead>(call.lists, call.control, call.lists.head_at)->steps;
  const bool counts = row < static_cast<std::size_t>(steps);
  const auto d_log_prob = static_cast<float>(exp(call.state->log_alpha) / steps);
  const auto numbers = static_cast<std::size_t>(call.head.column_count);
  const float* const outputs = call.outputs + row * static_cast<std::size_t>(call.head.outputs);
  float* const to = call.d_outputs + row * static_cast<std::size_t>(call.head.outputs);
  for (std::size_t k = 0; k < numbers; ++k) {
    const HeadColumn& column = call.head.columns[k];
    const std::size_t at = row * numbers + k;
    const float a = call.action[at], raw = outputs[column.deviation];
    const float d_action = call.d_actions[0][at] + call.d_actions[1][at];
    const float d_u = d_action * (1.0f - a * a) + d_log_prob * 2.0f * a;
    const bool free = raw == Clamped(raw, -20.0f, 2.0f);
    to[column.output] = counts ? d_u : 0.0f;
    to[column.deviation] = counts && free ? d_u * call.spread[at] - d_log_prob : 0.0f;
  }
}

/// As Temperature::Step.
MURMURATE_DEVICE void StepTemperature(double learning_rate, double excess, SoftState* state) {
  const double gradient = -excess;
  if (!(fabs(gradient) <= 1.7976931348623157e308)) return;  // not finite
  SoftState next = *state;
  next.steps += 1.0;
  next.first += (1.0 - 0.9) * (gradient - next.first);
  next.second += (1.0 - 0.999) * (gradient * gradient - next.second);
  const double mean = next.first / (1.0 - pow(0.9, next.steps)),
               square = next.second / (1.0 - pow(0.999, next.steps));
  next.log_alpha -= learning_rate * mean / (sqrt(square) + 1e-8);
  *state = next;
}

MURMURATE_KERNEL(FinishSoft) {
  MURMURATE_SHARED(double, parts, 32);
  if (!call.counts) {
    if (Thread() == 0) ++call.control->pass;
    return;
  }
  double sums[kReplaySums], policy[PolicyValueCall::kSums];
  for (int i = 0; i < kReplaySums; ++i)
    sums[i] = SumOfParts(call.critic_parts + i, call.blocks, kReplaySums, parts);
  for (int i = 0; i < PolicyValueCall::kSums; ++i)
    policy[i] = SumOfParts(call.policy_parts + i, call.blocks, PolicyValueCall::kSums, parts);
  if (Thread() != 0) return;
  TrainingControl* const control = call.control;
  const double steps = OfReplay<ReplayHead>(call.lists, control, call.lists.head_at)->steps;
  const double alpha = exp(call.state->log_alpha), log_prob = policy[0] / steps;
  StepTemperature(double{control->learning_rate}, log_prob + call.target_entropy, call.state);
  for (int i = 0; i < kReplaySums; ++i) control->sums[i] += sums[i];
  control->sums[4] += 1.0;
  control->sums[5] += alpha * log_prob - policy[1] / steps;
  control->sums[6] -= log_prob;
  control->sums[7] += exp(call.state->log_alpha);
  ++control->begun;
  ++control->pass;
}

}  // namespace murmurate
