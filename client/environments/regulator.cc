#include "client/environments/regulator.h"

#include <algorithm>

namespace murmurate {

Regulator::Regulator() : spaces_{Box({kSeen}), Box({kCarts}, -1, 1)}, random_(RandomIdentity()) {
  Random fixed(50);
  for (auto& row : weights_)
    for (float& weight : row) weight = 2 * fixed.Uniform() - 1;
  Reset();
}

void Regulator::Reset(std::uint64_t seed) {
  random_ = Random(seed);
  Reset();
}

void Regulator::Reset() {
  for (double& position : positions_) position = 2 * random_.UniformDouble() - 1;
  steps_ = 0;
  Observe();
}

void Regulator::Observe() {
  for (int i = 0; i < kSeen; ++i) {
    double sum = 0;
    for (int j = 0; j < kCarts; ++j) sum += weights_[i][j] * positions_[j];
    observation_[i] = static_cast<float>(sum);
  }
}

StepOutcome Regulator::Step(const Action& action) {
  double cost = 0;
  for (int i = 0; i < kCarts; ++i) {
    const double speed = std::clamp<double>(action.numbers()[i], -1, 1);
    cost += positions_[i] * positions_[i] + speed * speed;
    positions_[i] += kTimeStep * speed;
  }
  Observe();
  return {-cost, false, ++steps_ >= kMaxSteps};
}

}  // namespace murmurate
