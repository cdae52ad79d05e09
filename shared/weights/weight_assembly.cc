#include "shared/weights/weight_assembly.h"

#include <algorithm>
#include <cstring>

#include "shared/weights/payload_hash.h"

namespace murmurate {

WeightAssembly::Outcome WeightAssembly::Add(const wire::Chunk& chunk,
                                            std::span<const std::byte> block, std::uint64_t have) {
  if (chunk.version <= have) return Outcome::kOld;
  if (chunk.total_bytes != total()) return Outcome::kRefused;  // before anything is allocated
  const bool other = chunk.version != version_ || chunk.hash != hash_;
  if (other && chunk.offset == 0) {
    version_ = chunk.version;
    hash_ = chunk.hash;
    received_ = 0;
    AlignedFloats& payload = weights_.payload;
    if (payload.data() == nullptr || payload.size() * sizeof(float) != total()) {
      payload = AlignedFloats(total() / sizeof(float));
    }
  } else if (other) {
    return Outcome::kRefused;
  }
  if (chunk.offset != received_) return Outcome::kRefused;
  if (block.size() != std::min(wire::kChunkBytes, total() - received_)) return Outcome::kRefused;
  std::memcpy(reinterpret_cast<std::byte*>(weights_.payload.data()) + received_, block.data(),
              block.size());
  received_ += block.size();
  return received_ < total() ? Outcome::kStored : Finish(chunk.incarnation);
}

WeightAssembly::Outcome WeightAssembly::Finish(std::uint64_t incarnation) {
  weights_.stamp = {incarnation, version_};
  const std::uint64_t expected = hash_;
  version_ = 0;
  const auto bytes = std::as_bytes(std::span<const float>(weights_.payload));
  if (PayloadHash(bytes) != expected) return Outcome::kRefused;
  return ReadPayload(layout_, &weights_).ok() ? Outcome::kWhole : Outcome::kRefused;
}

}  // namespace murmurate
