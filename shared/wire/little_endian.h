// Numbers to and from little-endian bytes, whatever the machine and the alignment.
#pragma once

#include <cstddef>
#include <cstdint>

namespace murmurate::wire {

template <typename Number>
void PutLittleEndian(std::byte* to, Number value) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) to[i] = static_cast<std::byte>(value >> (8 * i));
}

template <typename Number>
Number GetLittleEndian(const std::byte* from) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    value |= std::to_integer<std::uint64_t>(from[i]) << (8 * i);
  }
  return static_cast<Number>(value);
}

}  // namespace murmurate::wire
