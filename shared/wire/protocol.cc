#include "shared/wire/protocol.h"

#include <algorithm>
#include <string>

#include "shared/core/sha256.h"
#include "shared/wire/little_endian.h"

namespace murmurate::wire {
namespace {

constexpr std::uint32_t kAnnouncementMagic = 0x41524d4d;  // "MMRA"
constexpr std::uint32_t kLayoutVersion = 1;

}  // namespace

std::array<std::byte, kAnnouncementBytes> EncodeAnnouncement(const Announcement& announcement) {
  std::array<std::byte, kAnnouncementBytes> bytes{};
  std::transform(announcement.model.begin(), announcement.model.end(), bytes.begin(),
                 [](std::uint8_t byte) { return std::byte{byte}; });
  PutLittleEndian(&bytes[16], kAnnouncementMagic);
  PutLittleEndian(&bytes[20], kLayoutVersion);
  PutLittleEndian(&bytes[24], announcement.incarnation);
  PutLittleEndian(&bytes[32], announcement.version);
  PutLittleEndian(&bytes[40], announcement.bytes);
  PutLittleEndian(&bytes[48], announcement.hash);
  return bytes;
}

Status DecodeAnnouncement(std::span<const std::byte> bytes, Announcement* announcement) {
  if (bytes.size() != kAnnouncementBytes) {
    return InvalidData("an announcement has 64 bytes, got " + std::to_string(bytes.size()));
  }
  if (GetLittleEndian<std::uint32_t>(&bytes[16]) != kAnnouncementMagic ||
      GetLittleEndian<std::uint32_t>(&bytes[20]) != kLayoutVersion) {
    return InvalidData("an announcement of another program or layout version (expected MMRA, 1)");
  }
  std::transform(bytes.begin(), bytes.begin() + 16, announcement->model.begin(),
                 [](std::byte byte) { return std::to_integer<std::uint8_t>(byte); });
  announcement->incarnation = GetLittleEndian<std::uint64_t>(&bytes[24]);
  announcement->version = GetLittleEndian<std::uint64_t>(&bytes[32]);
  announcement->bytes = GetLittleEndian<std::uint64_t>(&bytes[40]);
  announcement->hash = GetLittleEndian<std::uint64_t>(&bytes[48]);
  return Status();
}

std::array<std::uint8_t, 16> ModelId(std::string_view model_name) {
  const Sha256Digest digest = Sha256(model_name);
  std::array<std::uint8_t, 16> id;
  std::copy_n(digest.begin(), id.size(), id.begin());
  return id;
}

bool IsGoodName(std::string_view name) {
  if (name == "." || name == "..") return false;  // names become folders
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
}

const char* RefusalName(Refusal refusal) {
  constexpr std::array<const char*, kRefusalCount> kNames = {
      "none",   "malformed", "version",   "unknown-type", "not-registered",
      "spaces", "credit",    "sequence",  "meaning",      "not-finite",
      "stale",  "busy",      "too-large", "incarnation"};
  const auto index = static_cast<std::size_t>(refusal);
  return index < kNames.size() ? kNames[index] : "unknown";
}

}  // namespace murmurate::wire
