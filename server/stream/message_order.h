// MessageOrder: where a message of a device stands among those before it, by its number and its
// time.
//
//   number that came already:        a duplicate, because a message that is sent again keeps its
//                                    number and its time
//   number below the last, not seen: overtaken by later ones (SequenceWindow): taken, in the order
//                                    of arrival
//   number at most half of the last,
//   time later than any before:      the device counts anew
//   time before the last:            late; unless kMostLate of them came in a row, each later than
//                                    the one before: then its clock has been set back
//
// On a grid a message that is late or overtaken still belongs to its cell while that is open, and
// one whose cell is closed is late by its time, regardless of its number.
//
// So a sender that is exact (docs/streams.md) never seems to begin again: what it repeats is no
// later than what was taken. Without a time a restart cannot be told from a repetition, and low
// numbers are refused.
//
// Times are nanoseconds since 1970 began (UTC); 0: there was none.
#pragma once

#include <cstdint>

#include "server/stream/sample.h"
#include "server/stream/sequence_window.h"

namespace murmurate {

inline constexpr std::uint32_t kMostLate = 10;

enum class Ordering : std::uint8_t { kNext, kOvertaken, kDuplicate, kLate, kBeginsAgain };

/// CellState is what a grid says of a message's time; kNone where there is no grid.
enum class CellState : std::uint8_t { kNone, kOpen, kClosed };

class MessageOrder {
 public:
  /// `time_ns`: of the sample, or of its arrival if it has none. Counts late ones.
  Ordering Judge(const Sample& sample, std::int64_t time_ns, CellState cell);
  /// The device began again with this sample: its clock was set back, or it was started again and
  /// counts anew. Only the newest time stays.
  void BeginAgain(const Sample& sample);
  struct Accepted {
    std::int64_t missing;  ///< by how much the count of numbers that have not come changes
    float gap_s;           ///< since the message before; kUnknownGap if that is not known
  };
  static constexpr float kUnknownGap = -1;
  /// The sample is the newest that is taken.
  Accepted Accept(const Sample& sample, std::int64_t time_ns, std::int64_t arrival_ns);

  std::int64_t last_time_ns() const { return last_time_ns_; }
  std::int64_t last_arrival_ns() const { return last_arrival_ns_; }
  /// The newest time of all messages taken, even where clocks were set back since.
  std::int64_t newest_time_ns() const { return newest_time_ns_; }
  /// Empty: its messages have no numbers.
  const SequenceWindow& sequences() const { return sequences_; }
  SequenceWindow& sequences() { return sequences_; }
  void GoOnFrom(std::int64_t last_time_ns, std::int64_t last_arrival_ns,
                std::int64_t newest_time_ns);

 private:
  Ordering JudgeLate(std::int64_t time_ns);

  SequenceWindow sequences_;
  std::int64_t last_time_ns_ = 0, last_arrival_ns_ = 0, newest_time_ns_ = 0;
  std::int64_t heard_time_ns_ = 0;  ///< of the message taken last
  std::int64_t late_time_ns_ = 0;   ///< of the last one that was late
  std::uint32_t late_ = 0;          ///< in a row, each later than the one before
};

}  // namespace murmurate
