// Recall: remember one of four cues over a number of distractors, and name it when asked. The
// smallest of the tasks that only a memory solves (Hochreiter and Schmidhuber, "Long Short-Term
// Memory", 1997, section 5; bsuite's memory_len).
//
// Observation: one category of nine. The first step shows the cue, 0 to 3; each of the next d steps
// a distractor drawn anew, 4 to 7; the last step the question, 8, which is always the same.
// Actions: four. Only the last one counts: reward 1 when it is the cue, else 0. A player that
// cannot remember gets 0.25 on average, whatever it does.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "client/environments/environment.h"
#include "shared/core/random.h"

namespace murmurate {

class Recall : public Environment {
 public:
  static constexpr int kCues = 4, kQuestion = 8;

  static constexpr int kMaxDistractors = 100'000;

  /// `distractors` from 0 to kMaxDistractors; an episode has distractors + 2 steps.
  explicit Recall(int distractors = 8) : Recall([distractors] { return distractors; }) {}
  /// `distractors` is called as each episode begins.
  explicit Recall(std::function<int()> distractors);
  const Spaces& spaces() const override { return spaces_; }
  void Reset(std::uint64_t seed) override;
  void Reset() override;
  StepOutcome Step(const Action& action) override;
  Observation observation() const override { return Observation(std::span(&shown_, 1)); }
  int shown() const { return shown_; }

 private:
  const Spaces spaces_;
  const std::function<int()> ask_;
  int distractors_ = 0;
  Random random_;
  int cue_ = 0, step_ = 0;
  std::int32_t shown_ = 0;
};

}  // namespace murmurate
