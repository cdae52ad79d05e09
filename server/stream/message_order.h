// Where a message of a device stands among those before it, by its number and its time.
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
#pragma once

#include <cstdint>

#include "server/stream/device.h"
#include "server/stream/sample.h"

namespace murmurate {

inline constexpr std::uint32_t kMostLate = 10;

enum class Ordering : std::uint8_t { kNext, kOvertaken, kDuplicate, kLate, kBeginsAgain };

/// What a grid says of a message's time; kNone where there is no grid.
enum class CellState : std::uint8_t { kNone, kOpen, kClosed };

/// `time_ns`: of the sample, or of its arrival if it has none. Counts late ones in `device`.
Ordering OrderingOf(const Sample& sample, std::int64_t time_ns, CellState cell, Device* device);

}  // namespace murmurate
