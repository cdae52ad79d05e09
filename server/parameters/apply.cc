#include "server/parameters/apply.h"

#include <array>
#include <cmath>
#include <cstddef>

#include "shared/core/check.h"

namespace murmurate {
namespace {

template <typename... Sizes>
void CheckSizes(std::size_t size, Sizes... sizes) {
  MURMURATE_CHECK(((sizes == size) && ...), "spans that belong together have one size");
}

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
  const auto [rate, scale, decay] = factors;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    parameters[i] = decay * parameters[i] - rate * (scale * gradient[i]);
}

void MomentumStep(const StepFactors& factors, std::span<const float> gradient,
                  std::span<float> velocity, std::span<float> parameters) {
  CheckSizes(parameters.size(), gradient.size(), velocity.size());
  const auto [rate, scale, decay] = factors;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const float step = rate * (scale * gradient[i]);
    parameters[i] = decay * parameters[i] - step;
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
  const auto [rate, scale, decay] = factors;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const float g = scale * gradient[i];
    const float squares = sum[i] + g * g;
    sum[i] = squares;
    parameters[i] = decay * parameters[i] - rate * g / (std::sqrt(squares) + epsilon);
  }
}

}  // namespace murmurate
