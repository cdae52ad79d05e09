// Counts the calls of operator new on this thread (allocation_count.cc replaces it in this
// program).
#pragma once

#include <cstdint>

namespace murmurate {
std::uint64_t AllocationCount();
}
