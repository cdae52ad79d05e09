// The one source of the learner's kernels, included by learner_kernels_SET.cc after vector_SET.h
// (dense_kernels_source.h says why nothing here is visible outside that file).
#pragma once

#include "server/compute/learner_kernels.h"
#include "shared/compute/vector_functions.h"

namespace murmurate {
namespace {

using Stride = std::ptrdiff_t;

double SumOfSquares(std::size_t count, const float* values) {
  constexpr std::size_t kRun = 4096 * kLanes;
  double total = 0;
  for (std::size_t first = 0; first < count; first += kRun) {
    const std::size_t end = count - first < kRun ? count : first + kRun;
    Vector sum[4] = {Splat(0.0f), Splat(0.0f), Splat(0.0f), Splat(0.0f)};
    std::size_t i = first;
    for (; i + 4 * kLanes <= end; i += 4 * kLanes)
      for (int s = 0; s < 4; ++s) {
        const Vector x = Load(values + i + s * kLanes);
        sum[s] = MulAdd(x, x, sum[s]);
      }
    for (; i < end; i += kLanes) {
      const Mask part = FirstLanes(end - i < kLanes ? static_cast<int>(end - i) : kLanes);
      const Vector x = LoadPart(values + i, part);
      sum[0] = MulAdd(x, x, sum[0]);
    }
    total += Sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
  }
  return total;
}

void Adam(const AdamFactors& f, std::size_t count, const float* gradient, float* first,
          float* second, float* parameters) {
  const auto step = [&f](Vector g, Vector& m, Vector& v, Vector& p) {
    g = g * Splat(f.gradient_scale);
    m = MulAdd(Splat(f.keep1), g - m, m);
    v = MulAdd(Splat(f.keep2), g * g - v, v);
    const Vector root = MulAdd(Sqrt(v), Splat(f.root), Splat(f.epsilon));
    p = p * Splat(f.decay) - Splat(f.step) * m / root;
  };
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Vector m = Load(first + i), v = Load(second + i), p = Load(parameters + i);
    step(Load(gradient + i), m, v, p);
    Store(first + i, m);
    Store(second + i, v);
    Store(parameters + i, p);
  }
  if (i == count) return;
  const Mask part = FirstLanes(static_cast<int>(count - i));
  Vector m = LoadPart(first + i, part), v = LoadPart(second + i, part);
  Vector p = LoadPart(parameters + i, part);
  step(LoadPart(gradient + i, part), m, v, p);
  StorePart(first + i, part, m);
  StorePart(second + i, part, v);
  StorePart(parameters + i, part, p);
}

void RmsProp(const RmsPropFactors& f, std::size_t count, const float* gradient, float* square,
             float* parameters) {
  for (std::size_t i = 0; i < count; i += kLanes) {
    const Mask part = FirstLanes(count - i < kLanes ? static_cast<int>(count - i) : kLanes);
    const Vector g = LoadPart(gradient + i, part) * Splat(f.gradient_scale);
    Vector v = LoadPart(square + i, part);
    v = MulAdd(Splat(f.keep), g * g - v, v);
    const Vector p = LoadPart(parameters + i, part) * Splat(f.decay);
    StorePart(square + i, part, v);
    StorePart(parameters + i, part, p - Splat(f.step) * g / Sqrt(v + Splat(f.epsilon)));
  }
}

/// kLanes rows of logits, one in each lane. Whatever a row holds stays in its lane.
struct Softmax {
  Vector top, log_sum, chosen,
      entropy;  ///< log_sum is of exp(logit - top); chosen: log-probability

  Softmax(int actions, const float* logits, Vector action, Mask rows) {
    top = Gather(logits, actions, rows);
    for (int j = 1; j < actions; ++j) top = Max(top, Gather(logits + j, actions, rows));
    Vector sum = Splat(0.0f), weighted = Splat(0.0f);
    chosen = Splat(0.0f);
    for (int j = 0; j < actions; ++j) {
      const Vector x = Gather(logits + j, actions, rows) - top, e = Exp(x);
      sum = sum + e;
      weighted = MulAdd(e, x, weighted);
      chosen = Select(Equal(action, Splat(static_cast<float>(j))), x, chosen);
    }
    log_sum = Log(sum);
    chosen = chosen - log_sum;
    entropy = log_sum - weighted / sum;
  }
};

void PpoLossRows(const PpoCall& call, int row, Mask rows, PpoLossSums* sums) {
  const Vector zero = Splat(0.0f), one = Splat(1.0f);
  const Stride offset = Stride{row} * call.actions;
  const Vector action = LoadIntegers(call.action + row, rows);
  const Vector weight = LoadPart(call.weight + row, rows);
  const Mask alive = Greater(weight, zero);
  const Vector a = LoadPart(call.advantage + row, rows);
  const Softmax softmax(call.actions, call.logits + offset, action, rows);
  const Vector log_ratio = softmax.chosen - LoadPart(call.behaviour_log_prob + row, rows);
  const Vector ratio = Exp(log_ratio);
  const Vector low = Splat(1.0f - call.settings.clip), high = Splat(1.0f + call.settings.clip);
  const Vector clipped = Max(Min(ratio, high), low);
  const Vector free_gain = ratio * a, clipped_gain = clipped * a;
  const Vector slope = Select(Greater(free_gain, clipped_gain), zero, zero - free_gain);
  const Vector factor = weight * Splat(call.scale);
  const Vector bonus = Splat(call.settings.entropy);
  for (int j = 0; j < call.actions; ++j) {
    const Vector x = Gather(call.logits + offset + j, call.actions, rows);
    const Vector log_p = x - softmax.top - softmax.log_sum, p = Exp(log_p);
    const Vector hit = Select(Equal(action, Splat(static_cast<float>(j))), one, zero);
    const Vector d = slope * (hit - p) + bonus * p * (log_p + softmax.entropy);
    Scatter(call.d_logits + offset + j, call.actions, rows, Select(alive, factor * d, zero));
  }
  const Vector error = LoadPart(call.values + row, rows) - LoadPart(call.value_target + row, rows);
  const Vector d_value = factor * Splat(call.settings.value_weight) * error;
  StorePart(call.d_values + row, rows, Select(alive, d_value, zero));
  const auto total = [&](Vector x) { return double{Sum(Select(alive, weight * x, zero))}; };
  sums->policy_loss -= total(Min(free_gain, clipped_gain));
  sums->value_loss += total(Splat(0.5f) * error * error);
  sums->entropy += total(softmax.entropy);
  sums->approx_kl += total(ratio - one - log_ratio);
  sums->clipped += total(Select(Equal(ratio, clipped), zero, one));
}

void PpoLossAll(const PpoCall& call, PpoLossSums* sums) {
  for (int row = 0; row < call.rows; row += kLanes)
    PpoLossRows(call, row, FirstLanes(call.rows - row < kLanes ? call.rows - row : kLanes), sums);
}

void LogProbabilitiesAll(int rows, int actions, const float* logits, const std::int32_t* action,
                         float* log_prob) {
  for (int row = 0; row < rows; row += kLanes) {
    const Mask part = FirstLanes(rows - row < kLanes ? rows - row : kLanes);
    const Softmax softmax(actions, logits + Stride{row} * actions, LoadIntegers(action + row, part),
                          part);
    StorePart(log_prob + row, part, softmax.chosen);
  }
}

constexpr LearnerKernels MakeLearnerKernels() {
  return {SumOfSquares, Adam, RmsProp, PpoLossAll, LogProbabilitiesAll};
}

}  // namespace
}  // namespace murmurate
