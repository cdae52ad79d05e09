// Pendulum: Gymnasium's Pendulum-v1, number for number (double precision), but for the source of
// the random starting states: swing a rod up and hold it there, with a motor too weak to lift it at
// once.
//
// Observation: cosine and sine of the angle (0: upright), its speed. Action: the torque, one number
// in [-2, 2] (or in a box of another size that stands for it). Reward: -(angle^2 + 0.1 speed^2 +
// 0.001 torque^2), the angle within [-pi, pi). Truncated after 200 steps, never terminated.
#pragma once

#include <array>

#include "client/environments/environment.h"
#include "shared/core/random.h"

namespace murmurate {

class Pendulum : public Environment {
 public:
  static constexpr int kMaxSteps = 200;

  /// Actions are numbers in [low, high]; low means the torque -2, high 2.
  explicit Pendulum(double low = -2, double high = 2);
  const Spaces& spaces() const override { return spaces_; }
  void Reset(std::uint64_t seed) override;
  void Reset() override;
  StepOutcome Step(const Action& action) override {
    return Turn((action.numbers()[0] - middle_) * torque_of_one_);
  }
  StepOutcome Turn(double torque);  ///< clipped to [-2, 2]
  Observation observation() const override { return Observation(numbers()); }
  std::span<const float> numbers() const { return observation_; }

  /// The angle and its speed.
  const std::array<double, 2>& state() const { return state_; }
  /// Goes on from a given state, for comparisons; the time limit starts over.
  void SetState(const std::array<double, 2>& state);

 private:
  void Observe();

  const Spaces spaces_;
  const double middle_, torque_of_one_;
  Random random_;
  std::array<double, 2> state_{};
  std::array<float, 3> observation_{};
  int steps_ = 0;
};

}  // namespace murmurate
