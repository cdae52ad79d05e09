// ReconnectDelay: how long to wait before a lost peer is tried again: not at all after the first
// loss, then longer and longer. The wait is drawn, so that a thousand clients that lost one broker
// at one moment do not return at one moment.
//
//   loss     1   2       3       4       5        6 and on
//   wait, s  0   [1, 2]  [2, 4]  [4, 8]  [8, 16]  [15, 30]
#pragma once

#include <cstdint>

#include "shared/core/random.h"

namespace murmurate {

class ReconnectDelay {
 public:
  explicit ReconnectDelay(std::uint64_t seed) : random_(seed) {}

  /// The delay after the next loss in a row, in nanoseconds.
  std::int64_t Next();
  /// The connection was a good one: the next loss is a first one.
  void Reset() { losses_ = 0; }

 private:
  Random random_;
  int losses_ = 0;
};

}  // namespace murmurate
