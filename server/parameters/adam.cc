#include "server/parameters/adam.h"

#include "shared/core/check.h"

namespace murmurate {

void Adam::Step(const AdamSettings& settings, float gradient_scale, std::span<const float> gradient,
                std::span<float> parameters) {
  MURMURATE_CHECK(gradient.size() == first_.size() && parameters.size() == first_.size(),
                  "gradient and parameters must be as long as the optimizer's state");
  AdamStep(settings, ++steps_, gradient_scale, gradient, first_, second_, parameters);
}

}  // namespace murmurate
