// The rows that go through a network's layers together; inside server/network only.
#pragma once

namespace murmurate {

/// What one layer wrote the next finds in the cache; a multiple of every tile height. 96 is 1 %
/// slower at 64 units and 5 % at 1024.
inline constexpr int kChunkRows = 192;

}  // namespace murmurate
