// SlowSteps: another environment whose steps take time and no processor, as those of a simulator
// that runs elsewhere. It serves to try how a learner goes on with slow games.
#pragma once

#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "client/environments/environment.h"

namespace murmurate {

class SlowSteps : public Environment {
 public:
  /// Each step sleeps for `milliseconds`, which may be a fraction.
  SlowSteps(std::unique_ptr<Environment> game, double milliseconds)
      : game_(std::move(game)), time_(milliseconds) {}

  const Spaces& spaces() const override { return game_->spaces(); }
  void Reset(std::uint64_t seed) override { game_->Reset(seed); }
  void Reset() override { game_->Reset(); }
  StepOutcome Step(const Action& action) override {
    std::this_thread::sleep_for(time_);
    return game_->Step(action);
  }
  Observation observation() const override { return game_->observation(); }
  const Environment& unwrapped() const override { return game_->unwrapped(); }

 private:
  const std::unique_ptr<Environment> game_;
  const std::chrono::duration<double, std::milli> time_;
};

}  // namespace murmurate
