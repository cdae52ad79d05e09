#include "server/metrics/crc32c.h"

#include <array>
#include <bit>

namespace murmurate {
namespace {

constexpr std::array<std::uint32_t, 256> MakeTable() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t sum = i;
    for (int bit = 0; bit < 8; ++bit) sum = (sum & 1) != 0 ? (sum >> 1) ^ 0x82F63B78u : sum >> 1;
    table[i] = sum;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kTable = MakeTable();

}  // namespace

std::uint32_t Crc32c(std::string_view bytes) {
  std::uint32_t sum = ~0u;
  for (const char byte : bytes)
    sum = kTable[(sum ^ static_cast<unsigned char>(byte)) & 0xFF] ^ (sum >> 8);
  return ~sum;
}

std::uint32_t MaskedCrc32c(std::string_view bytes) {
  return std::rotr(Crc32c(bytes), 15) + 0xA282EAD8u;
}

}  // namespace murmurate
