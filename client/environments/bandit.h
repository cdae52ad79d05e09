// Bandit: the ten-armed testbed of Sutton and Barto, "Reinforcement Learning" (2018), section 2.3:
// each arm has a mean of its own, drawn once from N(0, 1); pulling it gives that mean plus noise
// from N(0, 1) and ends the episode. Observation: one number, always 1. Actions: ten arms.
#pragma once

#include <array>

#include "client/environments/environment.h"
#include "shared/core/random.h"

namespace murmurate {

class Bandit : public Environment {
 public:
  static constexpr int kArms = 10;

  /// `game` sets the means. Reset's seed is of the noise alone, so that all players of a run pull
  /// the same arms.
  explicit Bandit(std::uint64_t game = 1);
  const Spaces& spaces() const override { return spaces_; }
  void Reset(std::uint64_t seed) override { random_ = Random(seed); }
  void Reset() override {}
  StepOutcome Step(const Action& action) override;
  Observation observation() const override { return Observation(std::span(&shown_, 1)); }

  const std::array<double, kArms>& means() const { return means_; }

 private:
  const Spaces spaces_;
  Random random_;
  std::array<double, kArms> means_{};
  const float shown_ = 1.0f;
};

}  // namespace murmurate
