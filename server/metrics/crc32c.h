// CRC-32C (Castagnoli): polynomial 0x1EDC6F41 reflected, as in RFC 3720 B.4, and the form of it
// that TFRecord files have.
#pragma once

#include <cstdint>
#include <string_view>

namespace murmurate {

std::uint32_t Crc32c(std::string_view bytes);
/// The sum turned right by 15 bits, plus 0xA282EAD8.
std::uint32_t MaskedCrc32c(std::string_view bytes);

}  // namespace murmurate
