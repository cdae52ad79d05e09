// Fingerprint: whether a file is still the one that it was, for the price of three reads: XXH3 of
// its first, middle and last MiB, which is all of a file up to 3 MiB. It tells another data set
// apart, or one that was shuffled or cut anew, wherever it was copied; not a change of a few
// numbers between what it reads, for which all of a large file would have to be read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace murmurate {

std::uint64_t FingerprintOf(std::span<const std::byte> bytes);

}  // namespace murmurate
