#include "client/environments/bandit.h"

namespace murmurate {

Bandit::Bandit(std::uint64_t game) : spaces_{Box({1}), Discrete(kArms)}, random_(RandomIdentity()) {
  Random draw(game);
  for (double& mean : means_) mean = draw.Normal();
}

StepOutcome Bandit::Step(const Action& action) {
  return {means_[static_cast<std::size_t>(action.choice())] + random_.Normal(), true, false};
}

}  // namespace murmurate
