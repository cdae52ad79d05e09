// The parts common to all messages: the header, the reasons of a refusal, names and ids; and the
// announcement, which is not a message.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "murmurate/status.h"
#include "shared/wire/limits.h"

namespace murmurate::wire {

inline constexpr std::uint32_t kMagic = 0x31524d4d;  ///< "MMR1"
inline constexpr std::uint8_t kMajor = 1;
inline constexpr std::uint8_t kMinor = 1;

/// The number of a message's type; the message's row (fields.h) says which one it has. 13 and 14
/// are reserved: they are answered with kUnknownType.
enum class MessageType : std::uint16_t {};

/// Refusal is why a message was refused. Each is one of these, with a sentence and a counter.
enum class Refusal : std::uint16_t {
  kNone = 0,
  kMalformed = 1,
  kVersion = 2,
  kUnknownType = 3,
  kNotRegistered = 4,
  kSpaces = 5,
  kCredit = 6,
  kSequence = 7,
  kMeaning = 8,
  kNotFinite = 9,
  kStale = 10,
  kBusy = 11,
  kTooLarge = 12,
  kIncarnation = 13,
};
inline constexpr int kRefusalCount = 14;
const char* RefusalName(Refusal refusal);

struct Header {
  MessageType type{};
  std::uint8_t major = kMajor;
  std::uint8_t minor = kMinor;
  std::uint32_t flags = 0;       ///< zero
  std::uint32_t body_bytes = 0;  ///< bytes of all frames after this one
  std::uint64_t sender = 0;      ///< random id of one Client, or the learner's incarnation
  std::uint64_t sequence = 0;    ///< EXPERIENCE: 1, 2, 3... over a sender's life; else 0 or what is
                                 ///< answered
};

/// The first 16 bytes of SHA-256 of the model's name.
std::array<std::uint8_t, 16> ModelId(std::string_view model_name);
/// 1 to 64 letters, digits, '.', '_' or '-', and neither "." nor "..".
bool IsGoodName(std::string_view name);

/// The packed announcement on PUB/SUB, 64 bytes little-endian; its first 16 bytes are the model id.
/// schemas/README.md draws it.
struct Announcement {
  std::array<std::uint8_t, 16> model{};
  std::uint64_t incarnation = 0, version = 0, bytes = 0, hash = 0;
};
inline constexpr std::size_t kAnnouncementBytes = 64;
std::array<std::byte, kAnnouncementBytes> EncodeAnnouncement(const Announcement& announcement);
Status DecodeAnnouncement(std::span<const std::byte> bytes, Announcement* announcement);

}  // namespace murmurate::wire
