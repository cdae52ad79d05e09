#include "client/environments/acrobot.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace murmurate {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kTau = 0.2;  // seconds a step
constexpr double kMaxSpeed[] = {4 * kPi, 9 * kPi};
// Both rods are alike.
constexpr double kMass = 1, kLength = 1, kCenter = 0.5, kInertia = 1, kGravity = 9.8;

using State = Acrobot::State;

State Plus(const State& state, double scale, const State& change) {
  State sum;
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = state[i] + scale * change[i];
  return sum;
}

/// Speeds and accelerations.
State Derivative(const State& state, double torque) {
  const auto [first, second, first_speed, second_speed] = state;
  const double bend = kMass * kLength * kCenter;
  const double d1 =
      kMass * kCenter * kCenter +
      kMass * (kLength * kLength + kCenter * kCenter + 2 * kLength * kCenter * std::cos(second)) +
      2 * kInertia;
  const double d2 = kMass * (kCenter * kCenter + kLength * kCenter * std::cos(second)) + kInertia;
  const double phi2 = kMass * kCenter * kGravity * std::cos(first + second - kPi / 2);
  const double phi1 = -bend * second_speed * second_speed * std::sin(second) -
                      2 * bend * second_speed * first_speed * std::sin(second) +
                      (kMass * kCenter + kMass * kLength) * kGravity * std::cos(first - kPi / 2) +
                      phi2;
  const double second_change =
      (torque + d2 / d1 * phi1 - bend * first_speed * first_speed * std::sin(second) - phi2) /
      (kMass * kCenter * kCenter + kInertia - d2 * d2 / d1);
  return {first_speed, second_speed, -(d2 * second_change + phi1) / d1, second_change};
}

/// One step of the classical Runge-Kutta method.
State After(const State& state, double torque) {
  const State k1 = Derivative(state, torque);
  const State k2 = Derivative(Plus(state, kTau / 2, k1), torque);
  const State k3 = Derivative(Plus(state, kTau / 2, k2), torque);
  const State k4 = Derivative(Plus(state, kTau, k3), torque);
  State next;
  for (std::size_t i = 0; i < next.size(); ++i)
    next[i] = state[i] + kTau / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
  return next;
}

/// The same angle within [-pi, pi].
double Wrapped(double angle) {
  while (angle > kPi) angle -= 2 * kPi;
  while (angle < -kPi) angle += 2 * kPi;
  return angle;
}

}  // namespace

Acrobot::Acrobot() : spaces_{Box({6}), Discrete(3)}, random_(RandomIdentity()) { Reset(); }

void Acrobot::Reset(std::uint64_t seed) {
  random_ = Random(seed);
  Reset();
}

void Acrobot::Reset() {
  State state;
  for (double& number : state) number = 0.2 * random_.UniformDouble() - 0.1;
  SetState(state);
}

void Acrobot::SetState(const State& state) {
  state_ = state;
  steps_ = 0;
  Observe();
}

void Acrobot::Observe() {
  observation_ = {static_cast<float>(std::cos(state_[0])), static_cast<float>(std::sin(state_[0])),
                  static_cast<float>(std::cos(state_[1])), static_cast<float>(std::sin(state_[1])),
                  static_cast<float>(state_[2]),           static_cast<float>(state_[3])};
}

StepOutcome Acrobot::Turn(int action) {
  state_ = After(state_, action - 1);
  for (int rod = 0; rod < 2; ++rod) {
    state_[rod] = Wrapped(state_[rod]);
    state_[rod + 2] = std::clamp(state_[rod + 2], -kMaxSpeed[rod], kMaxSpeed[rod]);
  }
  Observe();
  const bool there = -std::cos(state_[0]) - std::cos(state_[0] + state_[1]) > 1;
  StepOutcome outcome{there ? 0.0 : -1.0, there, ++steps_ >= kMaxSteps && !there};
  if (outcome.terminated || outcome.truncated) outcome.success = there;
  return outcome;
}

}  // namespace murmurate
