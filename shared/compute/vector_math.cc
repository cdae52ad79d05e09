#include "shared/compute/vector_math.h"

#include <cmath>

namespace murmurate {

float Norm(std::span<const float> values) {
  double sum = 0;
  for (const float v : values) sum += double{v} * v;
  return static_cast<float>(std::sqrt(sum));
}

void AdamStep(const AdamSettings& settings, std::uint64_t t, float gradient_scale,
              std::span<const float> gradient, std::span<float> first, std::span<float> second,
              std::span<float> parameters) {
  const double correction1 = 1 - std::pow(double{settings.beta1}, t);
  const double correction2 = 1 - std::pow(double{settings.beta2}, t);
  const float step = static_cast<float>(settings.learning_rate / correction1);
  const float root = static_cast<float>(1 / std::sqrt(correction2));
  const float keep = 1 - settings.learning_rate * settings.weight_decay;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const float g = gradient[i] * gradient_scale;
    first[i] += (1 - settings.beta1) * (g - first[i]);
    second[i] += (1 - settings.beta2) * (g * g - second[i]);
    parameters[i] =
        keep * parameters[i] - step * first[i] / (std::sqrt(second[i]) * root + settings.epsilon);
  }
}

}  // namespace murmurate
