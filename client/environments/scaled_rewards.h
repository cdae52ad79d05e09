// ScaledRewards: another environment whose rewards are multiplied by a number. It serves to try a
// learner with rewards of any size.
#pragma once

#include <memory>
#include <utility>

#include "client/environments/environment.h"

namespace murmurate {

class ScaledRewards : public Environment {
 public:
  ScaledRewards(std::unique_ptr<Environment> game, double scale)
      : game_(std::move(game)), scale_(scale) {}

  const Spaces& spaces() const override { return game_->spaces(); }
  void Reset(std::uint64_t seed) override { game_->Reset(seed); }
  void Reset() override { game_->Reset(); }
  StepOutcome Step(const Action& action) override {
    StepOutcome outcome = game_->Step(action);
    outcome.reward *= scale_;
    return outcome;
  }
  Observation observation() const override { return game_->observation(); }
  const Environment& unwrapped() const override { return game_->unwrapped(); }

 private:
  const std::unique_ptr<Environment> game_;
  const double scale_;
};

}  // namespace murmurate
