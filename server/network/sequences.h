// Sequences: how the rows of one Forward follow each other, for models with recurrent layers.
#pragma once

#include <cstdint>

namespace murmurate {

/// Rows are time-major: row step * count + i is step `step` of sequence i. Everything stays the
/// caller's and must be there until Forward (state_out) or Backward (the rest) is done.
struct Sequences {
  int steps = 0, count = 0;
  const std::uint8_t* first =
      nullptr;                    ///< [steps][count]: 1 where an episode begins; null: nowhere
  const float* state0 = nullptr;  ///< [count][state_floats] before the first step; null: zeros
  float* state_out = nullptr;     ///< [count][state_floats] after the last; null: not wanted
};

}  // namespace murmurate
