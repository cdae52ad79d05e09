#include "client/environments/environment.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "client/environments/acrobot.h"
#include "client/environments/bandit.h"
#include "client/environments/cartpole.h"
#include "client/environments/catch.h"
#include "client/environments/chain.h"
#include "client/environments/gridworld.h"
#include "client/environments/mountain_car.h"
#include "client/environments/mountain_car_continuous.h"
#include "client/environments/pendulum.h"
#include "client/environments/random_game.h"
#include "client/environments/recall.h"
#include "client/environments/regulator.h"
#include "client/environments/scaled_rewards.h"
#include "client/environments/slow_steps.h"

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

Made MakePendulum(const EnvironmentOptions& options) {
  if (options.action_low >= options.action_high)
    return InvalidArgument("pendulum: action_low is " + NumberText(options.action_low) +
                           ", expected less than action_high, " + NumberText(options.action_high));
  return std::unique_ptr<Environment>(
      std::make_unique<Pendulum>(options.action_low, options.action_high));
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
    {"distractors", "recall", &Options::distractors, true, 0, 100'000,
     "steps between the cue and the question"},
    {"game", "bandit", &Options::game, true, 0, 0x1p53, "which means its arms have"},
    {"observation", "random", &Options::observation, true, 1, 65'536, "numbers it shows"},
    {"action", "random", &Options::action, true, 2, 4096, "actions to choose from"},
    {"action_low", "pendulum", &Options::action_low, false, -1e6, 1e6,
     "the action that means full torque to one side"},
    {"action_high", "pendulum", &Options::action_high, false, -1e6, 1e6, "and to the other"},
    {"reward_scale", "", &Options::reward_scale, false, 1e-9, 1e9,
     "its rewards are multiplied by it"},
    {"step_ms", "", &Options::step_ms, false, 0, 60'000,
     "each step sleeps for so many milliseconds, as a slow simulator"},
};

/// The status says which option of `environment` is out of its range.
Status CheckOptions(std::string_view environment, const EnvironmentOptions& options) {
  for (const EnvironmentOption& option : kOptions) {
    const double value = options.*option.value;
    if (!option.IsOf(environment) || (value >= option.low && value <= option.high)) continue;
    return InvalidArgument(std::string(environment) + ": " + option.name + " is " +
                           NumberText(value) + ", expected " + NumberText(option.low) + " to " +
                           NumberText(option.high));
  }
  return {};
}

constexpr struct {
  const char* name;
  Made (*make)(const EnvironmentOptions&);
} kEnvironments[] = {
    {"acrobot", Make<Acrobot>},
    {"bandit", MakeBandit},
    {"cartpole", Make<CartPole>},
    {"catch", Make<Catch>},
    {"chain", Make<Chain>},
    {"gridworld", Make<Gridworld>},
    {"mountain_car", Make<MountainCar>},
    {"mountain_car_continuous", Make<MountainCarContinuous>},
    {"pendulum", MakePendulum},
    {"random", MakeRandom},
    {"recall", MakeRecall},
    {"regulator", Make<Regulator>},
};

}  // namespace

std::string EnvironmentOption::MeaningInWords() const {
  return (*environment == 0 ? "every game" : std::string(environment)) + ": " + meaning;
}

std::string NumberText(double value) {
  char text[32];
  for (const int digits : {6, 15, 17}) {
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    if (std::strtod(text, nullptr) == value) break;
  }
  return text;
}

std::span<const EnvironmentOption> AllEnvironmentOptions() { return kOptions; }

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
      if (const Status status = CheckOptions(name, options); !status.ok()) return status;
      Made made = environment.make(options);
      if (!made.ok()) return made;
      auto game = *std::move(made);
      if (options.reward_scale != 1)
        game = std::make_unique<ScaledRewards>(std::move(game), options.reward_scale);
      if (options.step_ms > 0) game = std::make_unique<SlowSteps>(std::move(game), options.step_ms);
      return game;
    }
    names += (names.empty() ? "" : ", ") + std::string(environment.name);
  }
  return InvalidArgument("environment \"" + std::string(name) + "\": expected one of " + names);
}

}  // namespace murmurate
