// MountainCarContinuous: Gymnasium's MountainCarContinuous-v0, number for number (its state is
// float32), but for the source of the random starting positions: mountain_car.h with a motor of any
// force. Moore (1990).
//
// Observation: position, speed. Action: the force, one number in [-1, 1]. Reward: 100 for getting
// there, less 0.1 force^2 a step; terminated at position 0.45, truncated after 999 steps.
#pragma once

#include <array>

#include "client/environments/environment.h"
#include "shared/core/random.h"

namespace murmurate {

class MountainCarContinuous : public Environment {
 public:
  static constexpr int kMaxSteps = 999;

  MountainCarContinuous();
  const Spaces& spaces() const override { return spaces_; }
  void Reset(std::uint64_t seed) override;
  void Reset() override;
  StepOutcome Step(const Action& action) override { return Push(action.numbers()[0]); }
  StepOutcome Push(double force);  ///< it moves by the force clipped to [-1, 1], and pays for all
  Observation observation() const override { return Observation(numbers()); }
  /// Position and speed.
  std::span<const float> numbers() const { return state_; }

  /// Goes on from a given position and speed, for comparisons; the time limit starts over.
  void SetState(const std::array<float, 2>& state);

 private:
  const Spaces spaces_;
  Random random_;
  std::array<float, 2> state_{};
  int steps_ = 0;
};

}  // namespace murmurate
