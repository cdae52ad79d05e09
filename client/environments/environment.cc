#include "client/environments/environment.h"

#include "client/environments/cartpole.h"
#include "client/environments/random_game.h"

namespace murmurate {

std::vector<std::string> EnvironmentNames() { return {"cartpole", "random"}; }

Result<std::unique_ptr<Environment>> MakeEnvironment(std::string_view name,
                                                     const EnvironmentOptions& options) {
  if (name == "cartpole") return std::unique_ptr<Environment>(std::make_unique<CartPole>());
  if (name == "random") {
    const Spaces spaces{Box({options.observation}), Discrete(options.action)};
    if (const Status status = CheckSpaces(spaces); !status.ok()) return status;
    return std::unique_ptr<Environment>(std::make_unique<RandomGame>(spaces));
  }
  std::string names;
  for (const std::string& known : EnvironmentNames()) names += (names.empty() ? "" : ", ") + known;
  return InvalidArgument("environment \"" + std::string(name) + "\": expected one of " + names);
}

}  // namespace murmurate
