#include "client/environments/environment.h"

#include <algorithm>
#include <cmath>

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
  return std::unique_ptr<Environment>(
      std::make_unique<Bandit>(static_cast<std::uint64_t>(options.game)));
}

Made MakeRecall(const EnvironmentOptions& options) {
  const int usual = static_cast<int>(options.distractors);
  if (!options.setting) return std::unique_ptr<Environment>(std::make_unique<Recall>(usual));
  return std::unique_ptr<Environment>(std::make_unique<Recall>([setting = options.setting, usual] {
    return static_cast<int>(std::lround(std::clamp(setting("distractors", usual), -1e6, 1e6)));
  }));
}

Made MakeRandom(const EnvironmentOptions& options) {
  const Spaces spaces{Box({static_cast<int>(options.observation)}),
                      Discrete(static_cast<int>(options.action))};
  if (const Status status = CheckSpaces(spaces); !status.ok()) return status;
  return std::unique_ptr<Environment>(std::make_unique<RandomGame>(spaces));
}

using Options = EnvironmentOptions;
constexpr EnvironmentOption kOptions[] = {
    {"distractors", "recall", &Options::distractors, 0, 100'000,
     "steps between the cue and the question"},
    {"game", "bandit", &Options::game, 0, std::int64_t{1} << 53, "which means its arms have"},
    {"observation", "random", &Options::observation, 1, 65'536, "numbers it shows"},
    {"action", "random", &Options::action, 2, 4096, "actions to choose from"},
};

/// The status says which option of `environment` is out of its range.
Status CheckOptions(std::string_view environment, const EnvironmentOptions& options) {
  for (const EnvironmentOption& option : kOptions) {
    const std::int64_t value = options.*option.value;
    if (environment != option.environment || (value >= option.low && value <= option.high))
      continue;
    return InvalidArgument(std::string(environment) + ": " + option.name + " is " +
                           std::to_string(value) + ", expected " + std::to_string(option.low) +
                           " to " + std::to_string(option.high));
  }
  return {};
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

std::span<const EnvironmentOption> AllEnvironmentOptions() { return kOptions; }

const EnvironmentOption* FindEnvironmentOption(std::string_view name) {
  for (const EnvironmentOption& option : kOptions)
    if (name == option.name) return &option;
  return nullptr;
}

std::vector<std::string> EnvironmentNames() {
  std::vector<std::string> names;
  for (const auto& environment : kEnvironments) names.push_back(environment.name);
  return names;
}

Result<std::unique_ptr<Environment>> MakeEnvironment(std::string_view name,
                                                     const EnvironmentOptions& options) {
  std::string names;
  for (const auto& environment : kEnvironments) {
    if (name == environment.name) {
      const Status status = CheckOptions(name, options);
      return status.ok() ? environment.make(options) : Made(status);
    }
    names += (names.empty() ? "" : ", ") + std::string(environment.name);
  }
  return InvalidArgument("environment \"" + std::string(name) + "\": expected one of " + names);
}

}  // namespace murmurate
