// The one source of the learner's kernels, compiled after vector_SET.h for each set
// (dense_kernels_source.h says why nothing but the table is visible outside).
#pragma once

#include "server/compute/learner_kernels.h"
#include "shared/compute/vector_functions.h"

namespace murmurate {
namespace {

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
    p = p - Splat(f.step) * m / root;
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
    const Vector p = LoadPart(parameters + i, part);
    StorePart(square + i, part, v);
    StorePart(parameters + i, part, p - Splat(f.step) * g / Sqrt(v + Splat(f.epsilon)));
  }
}

}  // namespace

constinit const LearnerKernels LearnerKernels::MURMURATE_KERNEL_SET = {SumOfSquares, Adam, RmsProp};

}  // namespace murmurate
