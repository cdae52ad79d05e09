// LZW as GIF files have it (GIF89a, appendix F): codes of variable width, least significant bit
// first.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace murmurate {

/// `values` each below 2^bits, `bits` from 2 to 8: the codes, without the blocks of at most 255
/// bytes that a file has them in. The table is cleared as it is full, with 4096 codes.
std::string LzwCodes(std::span<const std::uint8_t> values, int bits);

}  // namespace murmurate
