// RandomGame: any spaces, no sense: uniform observations in [-1, 1) and rewards in [0, 1), and an
// episode that ends with probability 0.01 a step. For trying a server without a game.
#pragma once

#include <vector>

#include "client/environments/environment.h"
#include "shared/core/random.h"

namespace murmurate {

class RandomGame : public Environment {
 public:
  explicit RandomGame(const Spaces& spaces)
      : spaces_(spaces),
        random_(RandomIdentity()),
        observation_(static_cast<std::size_t>(spaces.observation.element_count())) {
    Look();
  }

  const Spaces& spaces() const override { return spaces_; }
  void Reset(std::uint64_t seed) override {
    random_ = Random(seed);
    Look();
  }
  void Reset() override { Look(); }
  StepOutcome Step(const Action&) override {
    Look();
    const double reward = random_.UniformDouble();
    return {reward, random_.UniformDouble() < 0.01, false};
  }
  Observation observation() const override { return Observation(observation_); }
  std::span<const float> numbers() const { return observation_; }

 private:
  void Look() {
    for (float& x : observation_) x = 2.0f * random_.Uniform() - 1.0f;
  }

  const Spaces spaces_;
  Random random_;
  std::vector<float> observation_;
};

}  // namespace murmurate
