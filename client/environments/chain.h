// Chain: 60 places in a row, walked through from the first to the last, where the walk stays. The
// time limit is as long as the chain, so the last step of an episode, and no other, is cut there:
// what a learner takes for the value of the last place tells whether it treats a time limit as an
// end (Pardo et al. 2018, "Time Limits in Reinforcement Learning").
//
// Observation: the place, as a one-hot. Actions: 1 collects the reward of the place, which rises
// from 0 at the first to 1 at the last; 0 leaves it. Never terminated, truncated after 60 steps. The
// best return is 30; the value of the last place, without the limit, is 1 / (1 - gamma).
#pragma once

#include <algorithm>
#include <array>

#include "client/environments/environment.h"

namespace murmurate {

class Chain : public Environment {
 public:
  static constexpr int kPlaces = 60;

  Chain() : spaces_{Box({kPlaces}), Discrete(2)} { Reset(); }
  const Spaces& spaces() const override { return spaces_; }
  void Reset(std::uint64_t /*seed*/) override { Reset(); }
  void Reset() override;
  StepOutcome Step(const Action& action) override;
  Observation observation() const override { return Observation(std::span<const float>(shown_)); }
  /// From 0 to kPlaces - 1.
  int place() const { return std::min(steps_, kPlaces - 1); }

 private:
  const Spaces spaces_;
  std::array<float, kPlaces> shown_{};
  int steps_ = 0;
};

}  // namespace murmurate
