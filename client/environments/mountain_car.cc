#include "client/environments/mountain_car.h"

#include <algorithm>
#include <cmath>

namespace murmurate {
namespace {

constexpr double kLeastPosition = -1.2, kMostPosition = 0.6;
constexpr double kMaxSpeed = 0.07;
constexpr double kGoal = 0.5;
constexpr double kForce = 0.001, kGravity = 0.0025;

}  // namespace

MountainCar::MountainCar() : spaces_{Box({2}), Discrete(3)}, random_(RandomIdentity()) { Reset(); }

void MountainCar::Reset(std::uint64_t seed) {
  random_ = Random(seed);
  Reset();
}

void MountainCar::Reset() { SetState({-0.6 + 0.2 * random_.UniformDouble(), 0}); }

void MountainCar::SetState(const std::array<double, 2>& state) {
  state_ = state;
  steps_ = 0;
  Observe();
}

void MountainCar::Observe() {
  observation_ = {static_cast<float>(state_[0]), static_cast<float>(state_[1])};
}

StepOutcome MountainCar::Push(int action) {
  auto& [position, speed] = state_;
  speed += (action - 1) * kForce + std::cos(3 * position) * -kGravity;
  speed = std::clamp(speed, -kMaxSpeed, kMaxSpeed);
  position = std::clamp(position + speed, kLeastPosition, kMostPosition);
  if (position == kLeastPosition && speed < 0) speed = 0;
  Observe();
  const bool there = position >= kGoal && speed >= 0;
  StepOutcome outcome{-1.0, there, ++steps_ >= kMaxSteps && !there};
  if (outcome.terminated || outcome.truncated) outcome.success = there;
  return outcome;
}

}  // namespace murmurate
