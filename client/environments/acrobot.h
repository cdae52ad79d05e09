// Acrobot: Gymnasium's Acrobot-v1, number for number (double precision), but for the source of the
// random starting states: two rods hang from a pivot, and a motor between them must swing the end
// above a line. Sutton (1996), with the dynamics of Sutton and Barto (2018, section 11.3).
//
// Observation: cosine and sine of the first angle (0: hanging down), the same of the second
// (relative to the first), both speeds. Actions: torque -1, 0, +1. Reward -1 a step, 0 for the one
// that gets there, which terminates; truncated after 500 steps.
#pragma once

#include <array>

#include "client/environments/environment.h"
#include "shared/core/random.h"

namespace murmurate {

class Acrobot : public Environment {
 public:
  static constexpr int kMaxSteps = 500;
  /// Two angles and their speeds.
  using State = std::array<double, 4>;

  Acrobot();
  const Spaces& spaces() const override { return spaces_; }
  void Reset(std::uint64_t seed) override;
  void Reset() override;
  StepOutcome Step(const Action& action) override { return Turn(action.choice()); }
  StepOutcome Turn(int action);  ///< 0: torque -1, 1: none, 2: +1
  Observation observation() const override { return Observation(numbers()); }
  std::span<const float> numbers() const { return observation_; }

  const State& state() const { return state_; }
  /// Goes on from a given state, for comparisons; the time limit starts over.
  void SetState(const State& state);

 private:
  void Observe();

  const Spaces spaces_;
  Random random_;
  State state_{};
  std::array<float, 6> observation_{};
  int steps_ = 0;
};

}  // namespace murmurate
