// NameMap: which tensor of someone else's file becomes which of ours. A text of lines
//
//   # our name     their name
//   "policy.0" = "actor.fc1"                  every tensor whose name begins with "policy.0."
//   "policy.head.weight" = "actor.out.weight" one tensor
//
// of which the longest that fits a tensor counts. A tensor that no line fits has its own name.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "murmurate/status.h"

namespace murmurate {

class NameMap {
 public:
  struct Line {
    std::string ours, theirs;
    std::size_t number;  ///< in the text, from 1
  };

  NameMap() = default;
  /// At most 64 KiB. kInvalidData names the first line that is not as expected: "line 3: ...".
  static Result<NameMap> Parse(std::string_view text);

  /// Null when no line fits.
  const Line* Find(std::string_view ours) const;
  /// What the tensor of ours is called there.
  std::string TheirName(std::string_view ours) const;
  const std::vector<Line>& lines() const { return lines_; }

 private:
  std::vector<Line> lines_;
};

}  // namespace murmurate
