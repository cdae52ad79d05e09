#include "shared/weights/weight_assembly.h"

#include <algorithm>

namespace murmurate {

WeightAssembly::Outcome WeightAssembly::Add(const wire::Chunk& chunk, std::size_t block_bytes,
                                            std::uint64_t have) {
  if (chunk.version <= have) return Outcome::kOld;
  if (chunk.total_bytes != total_) return Outcome::kRefused;
  const bool other = chunk.version != version_ || chunk.hash != hash_;
  const std::size_t at = other ? 0 : received_;
  if (chunk.offset != at) return Outcome::kRefused;
  if (block_bytes != std::min(wire::kChunkBytes, total_ - at)) return Outcome::kRefused;
  version_ = chunk.version;
  hash_ = chunk.hash;
  received_ = at + block_bytes;
  if (received_ < total_) return Outcome::kNext;
  version_ = 0;
  return Outcome::kLast;
}

}  // namespace murmurate
