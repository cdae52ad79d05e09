// Advice to the kernel about mapped files that are larger than memory: what is touched is read
// without its neighbours, what will be needed is asked for before that, and what was used is given
// up first.
#pragma once

#include <cstddef>
#include <span>

namespace murmurate {

/// Tells the kernel that the pages of a mapping will be touched in no order, and not again soon.
void AdviseRandom(std::span<const std::byte> mapping);
/// Begins to read what lies here, and waits for nothing.
void BeginToRead(std::span<const std::byte> part);

}  // namespace murmurate
