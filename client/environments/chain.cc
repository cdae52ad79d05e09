#include "client/environments/chain.h"

namespace murmurate {

void Chain::Reset() {
  steps_ = 0;
  shown_ = {1};
}

StepOutcome Chain::Step(const Action& action) {
  const int collected = steps_++;
  shown_ = {};
  shown_[static_cast<std::size_t>(place())] = 1;
  const double reward = action.choice() == 1 ? double(collected) / (kPlaces - 1) : 0.0;
  return {reward, false, steps_ == kPlaces};
}

}  // namespace murmurate
