#include "server/compute/vector_math.h"

#include <cmath>

#include "server/compute/learner_kernels.h"
#include "shared/core/check.h"

namespace murmurate {

float Norm(std::span<const float> values) {
  return static_cast<float>(std::sqrt(SumOfSquares(values)));
}

double SumOfSquares(std::span<const float> values) {
  return BestKernels<LearnerKernels>().sum_of_squares(values.size(), values.data());
}

void AdamStep(const AdamSettings& settings, std::uint64_t t, float gradient_scale,
              std::span<const float> gradient, std::span<float> first, std::span<float> second,
              std::span<float> parameters) {
  MURMURATE_CHECK(first.size() == gradient.size() && second.size() == gradient.size() &&
                      parameters.size() == gradient.size(),
                  "one moment and one parameter for each gradient");
  const double correction1 = 1 - std::pow(double{settings.beta1}, static_cast<double>(t));
  const double correction2 = 1 - std::pow(double{settings.beta2}, static_cast<double>(t));
  const AdamFactors factors{.gradient_scale = gradient_scale,
                            .keep1 = 1 - settings.beta1,
                            .keep2 = 1 - settings.beta2,
                            .step = static_cast<float>(settings.learning_rate / correction1),
                            .root = static_cast<float>(1 / std::sqrt(correction2)),
                            .epsilon = settings.epsilon};
  BestKernels<LearnerKernels>().adam(factors, gradient.size(), gradient.data(), first.data(),
                                     second.data(), parameters.data());
}

void RmsPropStep(const RmsPropSettings& settings, float gradient_scale,
                 std::span<const float> gradient, std::span<float> square,
                 std::span<float> parameters) {
  MURMURATE_CHECK(square.size() == gradient.size() && parameters.size() == gradient.size(),
                  "one mean square and one parameter for each gradient");
  const RmsPropFactors factors{.gradient_scale = gradient_scale,
                               .keep = 1 - settings.decay,
                               .step = settings.learning_rate,
                               .epsilon = settings.epsilon};
  BestKernels<LearnerKernels>().rmsprop(factors, gradient.size(), gradient.data(), square.data(),
                                        parameters.data());
}

}  // namespace murmurate
