// The arithmetic of update rules and simple optimizers over flat blocks. One source, compiled
// without contraction (a * b + c is two roundings on every processor), so that what is equal on
// paper is equal bit for bit, and the same on every machine. What a shard waits for is compiled for
// wider vectors, too: each number still has the same roundings.
//
// Spans that belong together have one size. Each is one pass over memory and allocates nothing.
#pragma once

#include <span>

namespace murmurate {

/// out = scale * values (the spans may be one); to += scale * values; from -= values.
void SetScaled(float scale, std::span<const float> values, std::span<float> out);
void AddScaled(float scale, std::span<const float> values, std::span<float> to);
void Subtract(std::span<const float> values, std::span<float> from);

/// out = values / divisor; the spans may be one.
void Divide(std::span<const float> values, float divisor, std::span<float> out);

/// out = (a - b) / divisor, and scale * (a - b); out may be a or b.
void DividedDifference(std::span<const float> a, std::span<const float> b, float divisor,
                       std::span<float> out);
void ScaledDifference(float scale, std::span<const float> a, std::span<const float> b,
                      std::span<float> out);

/// e = alpha (x - center), center += e; e may be x.
void ElasticStep(float alpha, std::span<const float> x, std::span<float> center,
                 std::span<float> e);

/// The largest number that a worker may push where the result is not checked number by number: its
/// square is finite, and so are sums of all pushes there can be. Gradients of a model that learns
/// are far below.
inline constexpr float kLargestFloat = 1e18f;
/// |v| <= limit for all; false for NaN.
bool AllWithin(float limit, std::span<const float> values);

/// ||a - b||^2 in double.
double SquaredDistance(std::span<const float> a, std::span<const float> b);

/// The common factors of a step: p <- p - learning_rate (gradient_scale g).
struct StepFactors {
  float learning_rate = 0.0f, gradient_scale = 1.0f;
};

void SgdStep(const StepFactors& factors, std::span<const float> gradient,
             std::span<float> parameters);
/// SgdStep of `from` into `to`, which do not overlap; false: some are not finite.
bool SgdStepInto(const StepFactors& factors, std::span<const float> from,
                 std::span<const float> gradient, std::span<float> to);

/// parameters <- parameters - step, velocity <- velocity - step, step = eta (scale g).
void MomentumStep(const StepFactors& factors, std::span<const float> gradient,
                  std::span<float> velocity, std::span<float> parameters);
/// velocity <- delta velocity, parameters <- parameters + velocity.
void MomentumLookAhead(float delta, std::span<float> velocity, std::span<float> parameters);

/// sum <- sum + g^2, parameters <- parameters - eta g / (sqrt(sum) + epsilon), g scaled.
void AdagradStep(const StepFactors& factors, float epsilon, std::span<const float> gradient,
                 std::span<float> sum, std::span<float> parameters);

}  // namespace murmurate
