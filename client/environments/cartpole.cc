#include "client/environments/cartpole.h"

#include <cmath>
#include <numbers>

namespace murmurate {
namespace {

constexpr double kGravity = 9.8;
constexpr double kMassCart = 1.0;
constexpr double kMassPole = 0.1;
constexpr double kTotalMass = kMassPole + kMassCart;
constexpr double kHalfLength = 0.5;
constexpr double kPoleMassLength = kMassPole * kHalfLength;
constexpr double kForce = 10.0;
constexpr double kTau = 0.02;  // seconds a step
constexpr double kMaxAngle = 12 * 2 * std::numbers::pi / 360;
constexpr double kMaxPosition = 2.4;

}  // namespace

CartPole::CartPole() : spaces_{Box({4}), Discrete(2)}, random_(RandomIdentity()) { Reset(); }

void CartPole::Reset(std::uint64_t seed) {
  random_ = Random(seed);
  Reset();
}

void CartPole::Reset() {
  for (double& x : state_) x = -0.05 + 0.1 * random_.UniformDouble();
  steps_ = 0;
  Observe();
}

void CartPole::SetState(const std::array<double, 4>& state) {
  state_ = state;
  steps_ = 0;
  Observe();
}

void CartPole::Observe() {
  for (int i = 0; i < 4; ++i) observation_[i] = static_cast<float>(state_[i]);
}

StepOutcome CartPole::Push(int action) {
  auto& [x, x_dot, theta, theta_dot] = state_;
  const double force = action == 1 ? kForce : -kForce;
  const double cosine = std::cos(theta), sine = std::sin(theta);
  const double push = (force + kPoleMassLength * theta_dot * theta_dot * sine) / kTotalMass;
  const double theta_acceleration =
      (kGravity * sine - cosine * push) /
      (kHalfLength * (4.0 / 3.0 - kMassPole * cosine * cosine / kTotalMass));
  const double x_acceleration = push - kPoleMassLength * theta_acceleration * cosine / kTotalMass;
  x += kTau * x_dot;
  x_dot += kTau * x_acceleration;
  theta += kTau * theta_dot;
  theta_dot += kTau * theta_acceleration;
  Observe();
  const bool fell = std::abs(x) > kMaxPosition || std::abs(theta) > kMaxAngle;
  return {1.0, fell, ++steps_ >= kMaxSteps && !fell};
}

}  // namespace murmurate
