// MemoryRoom: what a process may still use of the machine's memory.
#pragma once

#include <cstdint>

namespace murmurate {

/// Bytes: what is available on this machine, or to this process by its control group, if that is
/// less.
std::uint64_t MemoryRoom();

}  // namespace murmurate
