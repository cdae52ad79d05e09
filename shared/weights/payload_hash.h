// xxh3-64 of a whole payload, as announcements and chunks carry it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace murmurate {

std::uint64_t PayloadHash(std::span<const std::byte> payload);

}  // namespace murmurate
