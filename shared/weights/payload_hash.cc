#include "shared/weights/payload_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace murmurate {

std::uint64_t PayloadHash(std::span<const std::byte> payload) {
  return XXH3_64bits(payload.data(), payload.size());
}

}  // namespace murmurate
