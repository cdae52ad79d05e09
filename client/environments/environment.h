// Environment: a built-in game, for `murmurate train`, `actor` and `eval`. Not part of the library.
//
//   observation() is what the player sees now; Step leaves the next one there. When a step says
//   terminated or truncated, observation() is the final one, and Reset begins the next episode.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "murmurate/action.h"
#include "murmurate/observation.h"
#include "murmurate/spaces.h"
#include "murmurate/status.h"

namespace murmurate {

struct StepOutcome {
  double reward = 0.0;
  bool terminated = false;  ///< the episode is over
  bool truncated = false;   ///< the episode was cut by its time limit
  /// The outcome at an episode's last step, in games that have an aim.
  std::optional<bool> success = {};
};

class Environment {
 public:
  virtual ~Environment() = default;
  virtual const Spaces& spaces() const = 0;
  /// Begins an episode with a seed of its own: the same seed gives the same episode.
  virtual void Reset(std::uint64_t seed) = 0;
  /// Begins the next episode of the present stream of random numbers.
  virtual void Reset() = 0;
  /// Takes one step; `action` is of the action space.
  virtual StepOutcome Step(const Action& action) = 0;
  /// Views of the environment's own memory, and its mask if it has one: good until the next Step or
  /// Reset.
  virtual Observation observation() const = 0;
  /// The game itself, of an environment that changes what another one does.
  virtual const Environment& unwrapped() const { return *this; }
};

/// Options that some environments read; an environment ignores those it has no use for.
struct EnvironmentOptions {
  double observation = 8, action = 4;
  double distractors = 8;
  double game = 1;
  double action_low = -2, action_high = 2;
  double reward_scale = 1;
  double step_ms = 0;
  /// Client::Setting, for games that read one as an episode begins ("recall": distractors); empty:
  /// the numbers above.
  std::function<double(std::string_view name, double fallback)> setting = {};
};

/// An option by its name, in [environment] of a config and as `murmurate actor ENV --NAME`.
struct EnvironmentOption {
  const char* name;
  const char* environment;  ///< the only one that has it; "": every one
  double EnvironmentOptions::*value;
  bool whole;  ///< an integer
  double low, high;
  const char* meaning;

  bool IsOf(std::string_view game) const { return *environment == 0 || game == environment; }
  /// "pendulum: " before `meaning`, "every game: " where all have it.
  std::string MeaningInWords() const;
};
/// "8", "0.01": the text reads back as the same number.
std::string NumberText(double value);
std::span<const EnvironmentOption> AllEnvironmentOptions();

/// Makes one of EnvironmentNames(), each the name of its header here. Another name:
/// kInvalidArgument that lists these.
Result<std::unique_ptr<Environment>> MakeEnvironment(std::string_view name,
                                                     const EnvironmentOptions& options = {});
std::vector<std::string> EnvironmentNames();

}  // namespace murmurate
