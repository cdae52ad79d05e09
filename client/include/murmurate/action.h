// Action: what an agent does in one step, of any action space.
//
//   mmr::Action action;                      // one object for all steps
//   agent.Act(observation, &action);         // the first Act gives it the space's parts
//   game.Fire(action.choice("weapon"));
//   game.Steer(action.number("turn"));
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "murmurate/spaces.h"

namespace murmurate {

/// Choices and switches are int32, numbers float32, as the game gets them: clipped to [low, high],
/// or squashed into it. A part is named as the leaf of the action space; the empty name is the only
/// leaf of a space that is no Dict. A part that does not exist, or of the other sort, aborts with
/// its name.
class Action {
 public:
  Action() = default;  ///< no parts: Act gives it those of its agent
  /// A single choice.
  Action(int choice);
  /// Every choice and switch 0, every number 0 or what of [low, high] is nearest to it. A space
  /// that makes no sense (CheckSpaces) aborts.
  explicit Action(const Space& space);

  bool empty() const { return parts_.empty(); }

  /// The value of a part with one discrete variable: 0 to n - 1.
  int choice(std::string_view part = {}) const;
  /// The value of a part with one number.
  float number(std::string_view part = {}) const;
  /// The values of a part with several discrete variables, or switches (0 or 1).
  std::span<const std::int32_t> choices(std::string_view part = {}) const;
  /// The values of a part with several numbers.
  std::span<const float> numbers(std::string_view part = {}) const;
  /// To change what happened, for Agent::Took.
  std::span<std::int32_t> choices(std::string_view part = {});
  /// The same, of numbers.
  std::span<float> numbers(std::string_view part = {});

  /// One leaf of the action space.
  struct Part {
    std::string name;
    bool continuous = false;
    std::size_t first = 0;  ///< among the choices, or among the numbers
    std::size_t count = 0;
    friend bool operator==(const Part&, const Part&) = default;
  };
  const std::vector<Part>& parts() const { return parts_; }

 private:
  const Part& Find(std::string_view name, bool continuous) const;

  std::vector<Part> parts_;
  std::vector<std::int32_t> choices_;
  std::vector<float> numbers_;
};

}  // namespace murmurate
