// The first 64 bytes of a published payload.
//
//    0  magic u64 "MMRWEIG1"      32  epsilon f32
//    8  policy floats u64         36  sigma f32
//   16  statistics floats u64     40  temperature f32
//   24  act mode u32, zero u32    44  noise u32 (0 white, 1 pink)
//                                 48  ladder count u32, 52 ladder alpha f32
//                                 56  zeros
//
// What is added takes the place of zeros, and 0 of it means what was before it. A client of before
// ignores it: without the noise it explores with white noise, without the ladder with the epsilon
// of all, and records the log-probabilities of what it did.
#pragma once

#include <cstdint>

#include "shared/model/parameter_layout.h"
#include "shared/weights/weights.h"

namespace murmurate {

struct Preamble {
  std::uint64_t magic = 0x3147494557524d4d;
  std::uint64_t policy_count = 0, statistics_count = 0;
  std::uint32_t mode = 0, zero = 0;
  float epsilon = 0.0f, sigma = 0.0f, temperature = 0.0f;
  std::uint32_t noise = 0, ladder_count = 0;
  float ladder_alpha = 0.0f;
  std::uint32_t zeros[2] = {};
};
static_assert(sizeof(Preamble) == 64);

Preamble MakePreamble(const ParameterLayout& layout, const ActSettings& act);
/// The act settings, when the preamble is one of this layout.
Result<ActSettings> ReadPreamble(const ParameterLayout& layout, const Preamble& preamble);

}  // namespace murmurate
