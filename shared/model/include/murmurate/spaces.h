// Spaces: what an agent sees and what it may do. The game states them; the learner builds its model
// from them, so it needs no definition of the environment.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "murmurate/status.h"

namespace murmurate {

/// A tensor of float32 numbers (kBox) or one of `n` choices, 0..n-1 (kDiscrete).
struct Space {
  enum class Kind : std::uint8_t { kNone, kBox, kDiscrete };
  Kind kind = Kind::kNone;
  std::vector<int> shape;  ///< kBox: dimensions, each >= 1
  int n = 0;               ///< kDiscrete: number of choices, >= 2

  /// kBox: product of the shape. kDiscrete: 1.
  int element_count() const;
  friend bool operator==(const Space&, const Space&) = default;
};

Space Box(std::vector<int> shape);
Space Discrete(int n);

/// One agent's two spaces. Text form, one line each, parsed strictly:
///   observation float32 4
///   action discrete 2
struct Spaces {
  Space observation;
  Space action;

  std::string ToText() const;
  static Result<Spaces> Parse(std::string_view text);
  friend bool operator==(const Spaces&, const Spaces&) = default;
};

/// What this version can play and learn: a kBox observation of 1 to 65536 numbers and a kDiscrete
/// action of 2 to 4096 choices. The status names what is not supported.
Status CheckSpaces(const Spaces& spaces);

/// "" when equal, else the first difference in words: "action: expected discrete 2, got discrete
/// 3".
std::string FirstDifference(const Spaces& expected, const Spaces& got);

}  // namespace murmurate
