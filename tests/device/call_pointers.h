// A kernel reads and writes memory of the device alone: what its call points to is looked at.
#pragma once

#include "tests/sanitized.h"

namespace murmurate {

/// Whether it can be told: not where a compiler leaves rests of other variables between the members
/// of a call, nor where a sanitizer has memory at most addresses.
#if __has_builtin(__builtin_clear_padding)
inline constexpr bool kChecksPointers = !kSanitized;
#else
inline constexpr bool kChecksPointers = false;
#endif

struct HostKernel;
class HostMemory;

/// Aborts when a word of the call is the address of memory that the program has and the device does
/// not. For calls whose padding is clear (Device::Launch).
void CheckPointers(const HostKernel& kernel, const void* call, const HostMemory& memory);

}  // namespace murmurate
