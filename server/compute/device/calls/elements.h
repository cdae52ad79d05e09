#pragma once

#include <cstddef>
#include <cstdint>

namespace murmurate {

/// How a number lies in memory.
enum class ElementType : std::uint8_t {
  kFloat32,
  kBf16,  ///< the upper half of a float32: its exponents, and 8 bits of mantissa (one is not stored)
};

constexpr std::size_t BytesOf(ElementType type) { return type == ElementType::kBf16 ? 2 : 4; }

}  // namespace murmurate
