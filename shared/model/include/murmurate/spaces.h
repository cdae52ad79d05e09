// Spaces: what an agent sees and what it may do. The game states them; the learner builds its model
// from them, so it needs no definition of the environment. The kinds are Gymnasium's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "murmurate/status.h"

namespace murmurate {

/// One space. Make it with the functions below; CheckSpaces says whether it makes sense.
///
///   kind            observation                            action
///   kBox            float32 numbers, or bytes (kUint8,     float32 numbers (the game gets them
///                   which the model scales by 1/255)       within [low, high] when stated)
///   kDiscrete       a category, 0..n-1 (int32)             one of n choices
///   kMultiDiscrete  several categories                     a choice for each of several variables
///   kMultiBinary    n flags, 0 or 1 (int32)                n switches, 0 or 1
///   kDict           named leaves of the kinds above; their order is part of the space
struct Space {
  enum class Kind : std::uint8_t { kNone, kBox, kDiscrete, kMultiDiscrete, kMultiBinary, kDict };
  enum class Element : std::uint8_t { kFloat32, kUint8 };

  Kind kind = Kind::kNone;
  std::vector<int> shape;               ///< kBox: 1 to 8 dimensions, each >= 1
  int n = 0;                            ///< kDiscrete: choices, >= 2. kMultiBinary: switches, >= 1
  Element element = Element::kFloat32;  ///< kBox
  std::vector<float> low, high;         ///< kBox action: both empty, or one for each number
  std::vector<int> choices;             ///< kMultiDiscrete: of each of 2 or more variables, >= 2
  std::vector<std::string> names;       ///< kDict: [a-z0-9_]{1,32}, no two the same
  std::vector<Space> leaves;            ///< kDict: one for each name, none of them a kDict

  /// Numbers that one observation or action has: kBox the product of its shape, kDiscrete 1,
  /// kMultiDiscrete its variables, kMultiBinary n, kDict the sum. Saturates instead of wrapping.
  int element_count() const;

  /// A space that is no kDict is its own only leaf, whose name is empty.
  int leaf_count() const { return kind == Kind::kDict ? static_cast<int>(leaves.size()) : 1; }
  /// i from 0 to leaf_count() - 1.
  const Space& leaf(int i) const { return kind == Kind::kDict ? leaves[i] : *this; }
  /// "" where there is no name.
  std::string leaf_name(int i) const {
    return kind == Kind::kDict && i < static_cast<int>(names.size()) ? names[i] : std::string();
  }

  friend bool operator==(const Space&, const Space&) = default;
};

/// float32 numbers, without bounds.
Space Box(std::vector<int> shape);
/// An action with bounds: one for each number, or one for all of them.
Space Box(std::vector<int> shape, std::vector<float> low, std::vector<float> high);
Space Box(std::vector<int> shape, float low, float high);
/// Bytes, for example {height, width, channels}.
Space Image(std::vector<int> shape);
/// One of n.
Space Discrete(int n);
/// A single variable makes the same space as Discrete.
Space MultiDiscrete(std::vector<int> choices);
/// n flags or switches.
Space MultiBinary(int n);
/// Named leaves, in this order.
Space Dict(const std::vector<std::pair<std::string, Space>>& leaves);

/// One agent's spaces. Text form, one line a leaf, the observation's first; parsed strictly: there
/// is one way to write each space, and ToText writes it.
///   observation float32 4                     action discrete 2
///   observation.camera uint8 84 84 1          action.weapon discrete 3 5
///   observation.kind categories 10 3          action.buttons binary 4
///   observation.flags binary 4                action.turn continuous 2 low -1 -1 high 1 1
///                                             privileged float32 12
struct Spaces {
  Space observation;
  Space action;
  /// Of the kinds of an observation: what the learner's value network sees beside it and the policy
  /// does not, as what a simulator knows and a player cannot see. kNone: there is no such thing.
  Space privileged = {};

  std::string ToText() const;
  /// Parses the text of ToText; a result has passed CheckSpaces.
  static Result<Spaces> Parse(std::string_view text);
  friend bool operator==(const Spaces&, const Spaces&) = default;
};

/// The status names the leaf and what is wrong with it. A side has 1 to 32 leaves, a leaf at most
/// 65536 numbers (categories and choices counted one by one), of an observed box 1048576 as float32
/// and 4194304 as bytes, a variable 2 to 4096 choices; bounds are finite with low < high; the text
/// form takes at most 4096 bytes.
Status CheckSpaces(const Spaces& spaces);

/// "" when equal, else the first difference in words: "action: expected discrete 2, got discrete
/// 3", "observation.camera: expected uint8 84 84 1, got nothing".
std::string FirstDifference(const Spaces& expected, const Spaces& got);

}  // namespace murmurate
