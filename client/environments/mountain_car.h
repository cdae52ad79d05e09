// MountainCar: Gymnasium's MountainCar-v0, number for number (double precision), but for the source
// of the random starting positions: a car in a valley that must swing to get over the right hill.
// Moore (1990).
//
// Observation: position, speed. Actions: push left, nothing, push right. Reward -1 a step, the last
// one too; terminated at position 0.5, truncated after 200 steps.
#pragma once

#include <array>

#include "client/environments/environment.h"
#include "shared/core/random.h"

namespace murmurate {

class MountainCar : public Environment {
 public:
  static constexpr int kMaxSteps = 200;

  MountainCar();
  const Spaces& spaces() const override { return spaces_; }
  void Reset(std::uint64_t seed) override;
  void Reset() override;
  StepOutcome Step(const Action& action) override { return Push(action.choice()); }
  StepOutcome Push(int action);  ///< 0: left, 1: nothing, 2: right
  Observation observation() const override { return Observation(numbers()); }
  std::span<const float> numbers() const { return observation_; }

  /// Position and speed.
  const std::array<double, 2>& state() const { return state_; }
  /// Goes on from a given state, for comparisons; the time limit starts over.
  void SetState(const std::array<double, 2>& state);

 private:
  void Observe();

  const Spaces spaces_;
  Random random_;
  std::array<double, 2> state_{};
  std::array<float, 2> observation_{};
  int steps_ = 0;
};

}  // namespace murmurate
