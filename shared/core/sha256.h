// SHA-256 (FIPS 180-4): model ids, spec hashes, checkpoint manifests. Not a hot path.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace murmurate {

using Sha256Digest = std::array<std::uint8_t, 32>;

Sha256Digest Sha256(std::span<const std::byte> bytes);
Sha256Digest Sha256(std::string_view text);
/// 64 lower-case hexadecimal characters.
std::string ToHex(const Sha256Digest& digest);

}  // namespace murmurate
