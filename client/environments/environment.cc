#include "client/environments/environment.h"

#include "client/environments/bandit.h"
#include "client/environments/cartpole.h"
#include "client/environments/catch.h"
#include "client/environments/gridworld.h"
#include "client/environments/mountain_car.h"
#include "client/environments/pendulum.h"
#include "client/environments/random_game.h"
#include "client/environments/recall.h"

namespace murmurate {
namespace {

using Made = Result<std::unique_ptr<Environment>>;

template <typename Game>
Made Make(const EnvironmentOptions&) {
  return std::unique_ptr<Environment>(std::make_unique<Game>());
}

Made MakeBandit(const EnvironmentOptions& options) {
  return std::unique_ptr<Environment>(std::make_unique<Bandit>(options.game));
}

Made MakeRecall(const EnvironmentOptions& options) {
  if (options.distractors < 0)
    return InvalidArgument("recall: distractors is " + std::to_string(options.distractors) +
                           ": give 0 or more");
  return std::unique_ptr<Environment>(std::make_unique<Recall>(options.distractors));
}

Made MakeRandom(const EnvironmentOptions& options) {
  const Spaces spaces{Box({options.observation}), Discrete(options.action)};
  if (const Status status = CheckSpaces(spaces); !status.ok()) return status;
  return std::unique_ptr<Environment>(std::make_unique<RandomGame>(spaces));
}

constexpr struct {
  const char* name;
  Made (*make)(const EnvironmentOptions&);
} kEnvironments[] = {
    {"bandit", MakeBandit},
    {"cartpole", Make<CartPole>},
    {"catch", Make<Catch>},
    {"gridworld", Make<Gridworld>},
    {"mountain_car", Make<MountainCar>},
    {"pendulum", Make<Pendulum>},
    {"random", MakeRandom},
    {"recall", MakeRecall},
};

}  // namespace

std::vector<std::string> EnvironmentNames() {
  std::vector<std::string> names;
  for (const auto& environment : kEnvironments) names.push_back(environment.name);
  return names;
}

Result<std::unique_ptr<Environment>> MakeEnvironment(std::string_view name,
                                                     const EnvironmentOptions& options) {
  std::string names;
  for (const auto& environment : kEnvironments) {
    if (name == environment.name) return environment.make(options);
    names += (names.empty() ? "" : ", ") + std::string(environment.name);
  }
  return InvalidArgument("environment \"" + std::string(name) + "\": expected one of " + names);
}

}  // namespace murmurate
