#include "shared/model/previous_step.h"

#include <cmath>

namespace murmurate {

float ReducedReward(float reward) {
  return static_cast<float>(std::copysign(std::sqrt(std::abs(double{reward}) + 1.0) - 1.0, reward));
}

}  // namespace murmurate
