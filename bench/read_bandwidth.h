// The other limit of a forward pass of one row: how fast its weights can be read.
#pragma once

#include <cstddef>

namespace murmurate {

/// Bytes a second at which one core reads a block of that size in order, over and over, with the
/// widest loads of the processor: from the cache that is large enough for it.
double MeasureReadBandwidth(std::size_t bytes);

}  // namespace murmurate
