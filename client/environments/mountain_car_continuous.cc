#include "client/environments/mountain_car_continuous.h"

#include <algorithm>
#include <cmath>

namespace murmurate {
namespace {

constexpr double kLeastPosition = -1.2, kMostPosition = 0.6;
constexpr double kMaxSpeed = 0.07;
constexpr double kGoal = 0.45;
constexpr double kPower = 0.0015, kGravity = 0.0025;

}  // namespace

MountainCarContinuous::MountainCarContinuous()
    : spaces_{Box({2}), Box({1}, -1, 1)}, random_(RandomIdentity()) {
  Reset();
}

void MountainCarContinuous::Reset(std::uint64_t seed) {
  random_ = Random(seed);
  Reset();
}

void MountainCarContinuous::Reset() {
  SetState({static_cast<float>(-0.6 + 0.2 * random_.UniformDouble()), 0});
}

void MountainCarContinuous::SetState(const std::array<float, 2>& state) {
  state_ = state;
  steps_ = 0;
}

StepOutcome MountainCarContinuous::Push(double force) {
  double position = state_[0], speed = state_[1];
  speed += std::clamp(force, -1.0, 1.0) * kPower - kGravity * std::cos(3 * position);
  speed = std::clamp(speed, -kMaxSpeed, kMaxSpeed);
  position = std::clamp(position + speed, kLeastPosition, kMostPosition);
  if (position == kLeastPosition && speed < 0) speed = 0;
  const bool there = position >= kGoal && speed >= 0;
  state_ = {static_cast<float>(position), static_cast<float>(speed)};
  StepOutcome outcome{(there ? 100.0 : 0.0) - 0.1 * force * force, there,
                      ++steps_ >= kMaxSteps && !there};
  if (outcome.terminated || outcome.truncated) outcome.success = there;
  return outcome;
}

}  // namespace murmurate
