#include "client/environments/pendulum.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace murmurate {
namespace {

constexpr double kMaxSpeed = 8, kMaxTorque = 2;
constexpr double kTau = 0.05;  // seconds a step
constexpr double kGravity = 10, kMass = 1, kLength = 1;
constexpr double kPi = std::numbers::pi;

/// The same angle within [-pi, pi).
double Normalized(double angle) {
  const double turned = std::fmod(angle + kPi, 2 * kPi);
  return (turned < 0 ? turned + 2 * kPi : turned) - kPi;
}

}  // namespace

Pendulum::Pendulum(double low, double high)
    : spaces_{Box({3}), Box({1}, static_cast<float>(low), static_cast<float>(high))},
      middle_((low + high) / 2),
      torque_of_one_(2 * kMaxTorque / (high - low)),
      random_(RandomIdentity()) {
  Reset();
}

void Pendulum::Reset(std::uint64_t seed) {
  random_ = Random(seed);
  Reset();
}

void Pendulum::Reset() {
  const double angle = kPi * (2 * random_.UniformDouble() - 1);
  SetState({angle, 2 * random_.UniformDouble() - 1});
}

void Pendulum::SetState(const std::array<double, 2>& state) {
  state_ = state;
  steps_ = 0;
  Observe();
}

void Pendulum::Observe() {
  observation_ = {static_cast<float>(std::cos(state_[0])), static_cast<float>(std::sin(state_[0])),
                  static_cast<float>(state_[1])};
}

StepOutcome Pendulum::Turn(double torque) {
  auto& [angle, speed] = state_;
  torque = std::clamp(torque, -kMaxTorque, kMaxTorque);
  const double lean = Normalized(angle);
  const double cost = lean * lean + 0.1 * speed * speed + 0.001 * torque * torque;
  speed += (3 * kGravity / (2 * kLength) * std::sin(angle) +
            3.0 / (kMass * kLength * kLength) * torque) *
           kTau;
  speed = std::clamp(speed, -kMaxSpeed, kMaxSpeed);
  angle += speed * kTau;
  Observe();
  return {-cost, false, ++steps_ >= kMaxSteps};
}

}  // namespace murmurate
