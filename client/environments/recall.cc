#include "client/environments/recall.h"

#include <algorithm>

namespace murmurate {

Recall::Recall(std::function<int()> distractors)
    : spaces_{Discrete(kQuestion + 1), Discrete(kCues)},
      ask_(std::move(distractors)),
      random_(RandomIdentity()) {
  Reset();
}

void Recall::Reset(std::uint64_t seed) {
  random_ = Random(seed);
  Reset();
}

void Recall::Reset() {
  step_ = 0;
  distractors_ = std::clamp(ask_(), 0, kMaxDistractors);
  cue_ = static_cast<int>(random_.UniformInt(kCues));
  shown_ = cue_;
}

StepOutcome Recall::Step(const Action& action) {
  const bool right = action.choice() == cue_;
  if (shown_ == kQuestion) return {right ? 1.0 : 0.0, true, false, right};
  shown_ = ++step_ > distractors_ ? kQuestion
                                  : kCues + static_cast<std::int32_t>(random_.UniformInt(kCues));
  return {};
}

}  // namespace murmurate
