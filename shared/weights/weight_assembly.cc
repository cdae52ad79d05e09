#include "shared/weights/weight_assembly.h"

#include <algorithm>

namespace murmurate {

WeightAssembly::Outcome WeightAssembly::Add(const wire::Chunk& chunk, std::size_t block_bytes,
                                            std::uint64_t have) {
  // guard: Assembly.VersionNotNewerThanWhatIsHadIsOld: a version that is not newer is old
  if (chunk.version <= have) return Outcome::kOld;
  // guard: Assembly.WrongTotalIsRefused: the total is checked
  if (chunk.total_bytes != total_) return Outcome::kRefused;
  // guard: Assembly.ChunksOfTwoVersionsAreNeverMixed,
  //   Assembly.AnotherVersionFromItsStartReplacesTheOneBegun: all chunks are of one version
  const bool other = chunk.version != version_ || chunk.hash != hash_;
  const std::size_t at = other ? 0 : received_;
  // guard: Assembly.ChunkThatWasSkippedOrRepeatedIsRefused, Assembly.WrongBlockSizeIsRefused:
  //   chunks come in order and have the right size
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
