#include "server/parameters/apply.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "shared/compute/dense_kernels.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

template <typename... Sizes>
void CheckSizes(std::size_t size, Sizes... sizes) {
  MURMURATE_CHECK(((sizes == size) && ...), "spans that belong together have one size");
}

constexpr std::uint32_t kMagnitude = 0x7fffffffu, kOneExponent = 0x00800000u, kSign = 0x80000000u;

/// A number that is not finite has every bit of the exponent set: one more carries into the sign.
[[gnu::always_inline]] inline bool StepInto(const StepFactors& factors, std::size_t count,
                                            const float* __restrict from,
                                            const float* __restrict gradient,
                                            float* __restrict to) {
  const auto [rate, scale] = factors;
  std::uint32_t carried = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const float value = from[i] - rate * (scale * gradient[i]);
    to[i] = value;
    carried |= (std::bit_cast<std::uint32_t>(value) & kMagnitude) + kOneExponent;
  }
  return (carried & kSign) == 0;
}

/// Without their sign, the bits of numbers have the order of the numbers; NaN is the largest.
[[gnu::always_inline]] inline bool Within(float limit, std::span<const float> values) {
  const std::uint32_t above = kSign - 1 - std::bit_cast<std::uint32_t>(limit);
  std::uint32_t carried = 0;
  for (const float value : values)
    carried |= (std::bit_cast<std::uint32_t>(value) & kMagnitude) + above;
  return (carried & kSign) == 0;
}

#ifdef __x86_64__
[[gnu::target("avx2")]] bool WideStepInto(const StepFactors& factors, std::size_t count,
                                          const float* from, const float* gradient, float* to) {
  return StepInto(factors, count, from, gradient, to);
}

[[gnu::target("avx2")]] bool WideWithin(float limit, std::span<const float> values) {
  return Within(limit, values);
}

bool IsWide() {
  static const bool wide = ProcessorRuns(KernelSet::kAvx2);
  return wide;
}
#endif

}  // namespace

void SetScaled(float scale, std::span<const float> values, std::span<float> out) {
  CheckSizes(out.size(), values.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = scale * values[i];
}

void AddScaled(float scale, std::span<const float> values, std::span<float> to) {
  CheckSizes(to.size(), values.size());
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += scale * values[i];
}

void Subtract(std::span<const float> values, std::span<float> from) {
  CheckSizes(from.size(), values.size());
  for (std::size_t i = 0; i < from.size(); ++i) from[i] -= values[i];
}

void Divide(std::span<const float> values, float divisor, std::span<float> out) {
  CheckSizes(out.size(), values.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = values[i] / divisor;
}

void DividedDifference(std::span<const float> a, std::span<const float> b, float divisor,
                       std::span<float> out) {
  CheckSizes(out.size(), a.size(), b.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = (a[i] - b[i]) / divisor;
}

void ScaledDifference(float scale, std::span<const float> a, std::span<const float> b,
                      std::span<float> out) {
  CheckSizes(out.size(), a.size(), b.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = scale * (a[i] - b[i]);
}

void ElasticStep(float alpha, std::span<const float> x, std::span<float> center,
                 std::span<float> e) {
  CheckSizes(center.size(), x.size(), e.size());
  for (std::size_t i = 0; i < center.size(); ++i) {
    const float difference = alpha * (x[i] - center[i]);
    center[i] += difference;
    e[i] = difference;
  }
}

bool AllWithin(float limit, std::span<const float> values) {
#ifdef __x86_64__
  if (IsWide()) return WideWithin(limit, values);
#endif
  return Within(limit, values);
}

double SquaredDistance(std::span<const float> a, std::span<const float> b) {
  CheckSizes(a.size(), b.size());
  std::array<double, 8> lanes = {};  // a fixed order of summation that the compiler may vectorize
  const std::size_t whole = a.size() / lanes.size() * lanes.size();
  for (std::size_t i = 0; i < whole; i += lanes.size()) {
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      const double difference = a[i + lane] - b[i + lane];
      lanes[lane] += difference * difference;
    }
  }
  for (std::size_t i = whole; i < a.size(); ++i) {
    const double difference = a[i] - b[i];
    lanes[i - whole] += difference * difference;
  }
  double sum = 0.0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

void SgdStep(const StepFactors& factors, std::span<const float> gradient,
             std::span<float> parameters) {
  CheckSizes(parameters.size(), gradient.size());
  const auto [rate, scale] = factors;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    parameters[i] = parameters[i] - rate * (scale * gradient[i]);
}

bool SgdStepInto(const StepFactors& factors, std::span<const float> from,
                 std::span<const float> gradient, std::span<float> to) {
  CheckSizes(to.size(), from.size(), gradient.size());
#ifdef __x86_64__
  if (IsWide()) return WideStepInto(factors, to.size(), from.data(), gradient.data(), to.data());
#endif
  return StepInto(factors, to.size(), from.data(), gradient.data(), to.data());
}

void MomentumStep(const StepFactors& factors, std::span<const float> gradient,
                  std::span<float> velocity, std::span<float> parameters) {
  CheckSizes(parameters.size(), gradient.size(), velocity.size());
  const auto [rate, scale] = factors;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const float step = rate * (scale * gradient[i]);
    parameters[i] = parameters[i] - step;
    velocity[i] -= step;
  }
}

void MomentumLookAhead(float delta, std::span<float> velocity, std::span<float> parameters) {
  CheckSizes(parameters.size(), velocity.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const float ahead = delta * velocity[i];
    velocity[i] = ahead;
    parameters[i] += ahead;
  }
}

void AdagradStep(const StepFactors& factors, float epsilon, std::span<const float> gradient,
                 std::span<float> sum, std::span<float> parameters) {
  CheckSizes(parameters.size(), gradient.size(), sum.size());
  const auto [rate, scale] = factors;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const float g = scale * gradient[i];
    const float squares = sum[i] + g * g;
    sum[i] = squares;
    parameters[i] = parameters[i] - rate * g / (std::sqrt(squares) + epsilon);
  }
}

}  // namespace murmurate
