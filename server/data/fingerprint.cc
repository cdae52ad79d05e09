#include "server/data/fingerprint.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>

namespace murmurate {
namespace {

constexpr std::size_t kPart = std::size_t{1} << 20;

std::uint64_t HashOf(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace

std::uint64_t FingerprintOf(std::span<const std::byte> bytes) {
  if (bytes.size() <= 3 * kPart) return HashOf(bytes);
  const std::array parts{HashOf(bytes.first(kPart)),
                         HashOf(bytes.subspan((bytes.size() - kPart) / 2, kPart)),
                         HashOf(bytes.last(kPart))};
  return HashOf(std::as_bytes(std::span(parts)));
}

}  // namespace murmurate
