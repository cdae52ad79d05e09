// CartPole: Gymnasium's CartPole-v1, number for number (double precision, explicit Euler), but for
// the source of the random starting states. Barto, Sutton and Anderson (1983); reward 1 for every
// step, the last one too; terminated when |x| > 2.4 or the pole leans more than 12 degrees,
// truncated after 500 steps. Observation: x, its speed, the angle, its speed. Actions: push left,
// push right.
#pragma once

#include <array>

#include "client/environments/environment.h"
#include "shared/core/random.h"

namespace murmurate {

class CartPole : public Environment {
 public:
  static constexpr int kMaxSteps = 500;

  CartPole();
  const Spaces& spaces() const override { return spaces_; }
  void Reset(std::uint64_t seed) override;
  void Reset() override;
  StepOutcome Step(const Action& action) override { return Push(action.choice()); }
  StepOutcome Push(int action);  ///< 0: left, 1: right
  Observation observation() const override { return Observation(numbers()); }
  std::span<const float> numbers() const { return observation_; }

  const std::array<double, 4>& state() const { return state_; }
  /// Goes on from a given state, for comparisons; the time limit starts over.
  void SetState(const std::array<double, 4>& state);

 private:
  void Observe();

  const Spaces spaces_;
  Random random_;
  std::array<double, 4> state_{};
  std::array<float, 4> observation_{};
  int steps_ = 0;
};

}  // namespace murmurate
