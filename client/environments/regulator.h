// Regulator: a linear-quadratic problem of many numbers, whose optimum is known. Five carts are to
// be brought to 0 and held there at little speed.
//
// Observation: 50 numbers, each a weighted sum of the five positions; the weights are the same in
// every game. Action: five speeds in [-1, 1]; position += 0.1 speed. The reward is
// -(position^2 + speed^2), summed over the carts, of the position before the step. Positions begin
// uniform in [-1, 1). Truncated after 100 steps, never terminated.
//
// The best mean return is -17.52: speed = -k position with the gains of the Riccati recursion,
// which need no speed beyond the bounds. At rest it is -500 / 3.
#pragma once

#include <array>

#include "client/environments/environment.h"
#include "shared/core/random.h"

namespace murmurate {

class Regulator : public Environment {
 public:
  static constexpr int kCarts = 5, kSeen = 50, kMaxSteps = 100;
  static constexpr double kTimeStep = 0.1;

  Regulator();
  const Spaces& spaces() const override { return spaces_; }
  void Reset(std::uint64_t seed) override;
  void Reset() override;
  StepOutcome Step(const Action& action) override;
  Observation observation() const override { return Observation(numbers()); }
  std::span<const float> numbers() const { return observation_; }

  const std::array<double, kCarts>& positions() const { return positions_; }

 private:
  void Observe();

  const Spaces spaces_;
  std::array<std::array<float, kCarts>, kSeen> weights_{};
  Random random_;
  std::array<double, kCarts> positions_{};
  std::array<float, kSeen> observation_{};
  int steps_ = 0;
};

}  // namespace murmurate
