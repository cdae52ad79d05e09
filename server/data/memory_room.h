// MemoryRoom: how much of what is read from files can stay in memory, and what is done for files
// that are larger: what is touched is read without its neighbours, what will be needed is asked for
// before that, and what was used is given up first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace murmurate {

/// Bytes: what is available on this machine, or to this process by its control group, if that is
/// less.
std::uint64_t MemoryRoom();

/// Tells the kernel that the pages of a mapping will be touched in no order, and not again soon.
void AdviseRandom(std::span<const std::byte> mapping);
/// Begins to read what lies here, and waits for nothing.
void BeginToRead(std::span<const std::byte> part);

}  // namespace murmurate
