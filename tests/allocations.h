// Counts what the calling thread (or all of them) allocates and frees with new and delete, which
// allocations.cc replaces for the whole program that it is linked into.
#pragma once

#include <cstdint>

namespace murmurate {

std::uint64_t Allocations();
std::uint64_t AllocatedBytes();  ///< by the calling thread
std::uint64_t Frees();
std::uint64_t AllocationsOfAllThreads();

}  // namespace murmurate
