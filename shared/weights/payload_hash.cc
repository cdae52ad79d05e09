#include "shared/weights/payload_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace murmurate {

std::uint64_t PayloadHash(std::span<const std::byte> payload) {
  return XXH3_64bits(payload.data(), payload.size());
}

struct PassingHash::State {
  XXH3_state_t hash;
};

PassingHash::PassingHash() : state_(std::make_unique<State>()) { Begin(); }
PassingHash::~PassingHash() = default;

void PassingHash::Begin() { XXH3_64bits_reset(&state_->hash); }

void PassingHash::Add(std::span<const std::byte> piece) {
  XXH3_64bits_update(&state_->hash, piece.data(), piece.size());
}

std::uint64_t PassingHash::value() const { return XXH3_64bits_digest(&state_->hash); }

}  // namespace murmurate
