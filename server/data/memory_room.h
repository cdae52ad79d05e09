// MemoryRoom: how much of what is read from files can stay in memory, and what is done for files
// that are larger: their pages are read one by one instead of with their neighbours, which nobody
// wants in a shuffled order, and all of a batch's at once, before the first is waited for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace murmurate {

/// Bytes: what is available on this machine, or to this process by its control group, if that is
/// less.
std::uint64_t MemoryRoom();

/// Tells the kernel that the pages of a mapping will be touched in no order.
void AdviseRandom(std::span<const std::byte> mapping);
/// Begins to read what lies here, and waits for nothing.
void BeginToRead(std::span<const std::byte> part);

}  // namespace murmurate
