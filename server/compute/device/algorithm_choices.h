// AlgorithmChoices: which of the algorithms that a library proposes computes what, where that is kept:
// the same algorithm gives the same bits, and is not measured again.
#pragma once

#include <string>

namespace murmurate {

class AlgorithmChoices {
 public:
  virtual ~AlgorithmChoices() = default;

  // A call is named by all that the choice depends on: library and version, device, precision, shape.
  // Any thread.
  /// Empty: none is kept.
  virtual std::string Find(const std::string& call) = 0;
  virtual void Keep(const std::string& call, const std::string& algorithm) = 0;
};

}  // namespace murmurate
