// Sample: what one message of a stream says, and Refusal: why a message says nothing.
//
// One Sample is filled message after message (TopicPattern gives its device, PayloadReader the
// rest), so that its strings and its vector keep their memory. A caller that keeps one copies it.
//
// A refused message is dropped, counted under its word and now and then logged as its sentence; it
// is never the end of a stream, because what comes from outside may be anything.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace murmurate {

/// The square of such a number, and sums of squares, are float32 numbers. What lies beyond is out
/// of range.
inline constexpr double kMostUsable = 1e15;

struct Sample {
  std::string device;        ///< "": the one device of a topic without {device}
  std::int64_t time_ns = 0;  ///< since 1970 began (UTC); 0: the message has no time, take arrival
  std::optional<std::uint64_t> sequence;  ///< counts a device's messages
  std::vector<double> values;  ///< one per declared field, in order; NaN: missing or out of range
  std::string id;              ///< what a later label refers to; "": none
};

enum class Refusal : std::uint8_t {
  kNone,
  // The topic
  kUnknownTopic,
  kRetained,
  kEmptyDevice,
  kDeviceNameTooLong,
  kBadDeviceName,
  // The payload
  kOversized,
  kMalformed,
  kTooDeep,
  kTwice,
  kWrongType,
  kBadTime,
  kIdTooLong,
  kNoField,
  kMissingField,
  kNoId,
  // What was known before
  kDuplicate,
  kTimeRunsBack,
  kUnknownId,
  kTooManyDevices,
};
inline constexpr std::size_t kRefusals = static_cast<std::size_t>(Refusal::kTooManyDevices) + 1;

/// "malformed": one word of a-z and _, for counters. kNone: "none".
const char* WordOf(Refusal refusal);
/// The sentence for the log: what is wrong and what to do. kNone: "".
const char* SentenceOf(Refusal refusal);

/// RefusalCounts says how many messages met each refusal; at kNone, how many were taken.
class RefusalCounts {
 public:
  void Add(Refusal refusal, std::uint64_t times = 1) {
    counts_[static_cast<std::size_t>(refusal)] += times;
  }
  std::uint64_t operator[](Refusal refusal) const {
    return counts_[static_cast<std::size_t>(refusal)];
  }
  std::uint64_t sum() const;  ///< all messages
  /// All counts in the order of Refusal, for a checkpoint.
  std::span<const std::uint64_t> all() const { return counts_; }
  /// Goes on from those; of fewer words the others stay as they are.
  void GoOnFrom(std::span<const std::uint64_t> counts);

 private:
  std::array<std::uint64_t, kRefusals> counts_ = {};
};

}  // namespace murmurate
