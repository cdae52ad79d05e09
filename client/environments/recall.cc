#include "client/environments/recall.h"

namespace murmurate {

Recall::Recall(int distractors)
    : spaces_{Discrete(kQuestion + 1), Discrete(kCues)},
      distractors_(distractors),
      random_(RandomIdentity()) {
  Reset();
}

void Recall::Reset(std::uint64_t seed) {
  random_ = Random(seed);
  Reset();
}

void Recall::Reset() {
  step_ = 0;
  cue_ = static_cast<int>(random_.UniformInt(kCues));
  shown_ = cue_;
}

StepOutcome Recall::Step(const Action& action) {
  if (shown_ == kQuestion) return {action.choice() == cue_ ? 1.0 : 0.0, true, false};
  shown_ = ++step_ > distractors_ ? kQuestion
                                  : kCues + static_cast<std::int32_t>(random_.UniformInt(kCues));
  return {};
}

}  // namespace murmurate
