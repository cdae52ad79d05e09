#include "client/dropped_play.h"

#include <algorithm>

namespace murmurate {
namespace {

constexpr std::uint64_t kFewSteps = 10'000;
constexpr std::uint64_t kManySteps = 65'536;  // from here on the older half fades

}  // namespace

void DroppedPlay::Count(std::uint64_t steps, std::uint64_t overrun) {
  if (last_.has_value()) {
    recent_.steps += steps - std::min(steps, last_->steps);
    recent_.overrun += overrun - std::min(overrun, last_->overrun);
  }
  last_ = {steps, overrun};
  while (recent_.steps > 2 * kManySteps) {
    recent_.steps /= 2;
    recent_.overrun /= 2;
  }
}

bool DroppedPlay::Much() const {
  return recent_.steps >= kFewSteps && 4 * recent_.overrun > recent_.steps;
}

std::string DroppedPlay::Words() const {
  if (!Much()) return "";
  const std::uint64_t percent = 100 * std::min(recent_.overrun, recent_.steps) / recent_.steps;
  return std::to_string(percent) +
         " % of the steps are never sent: the game plays faster than the learner learns; where it "
         "may wait, use the pace \"credit\" (Pace::kCredit, MMR_PACE_CREDIT)";
}

bool DroppedPlay::PopWarning() {
  if (said_ || !Much()) return false;
  said_ = true;
  return true;
}

}  // namespace murmurate
