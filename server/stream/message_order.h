// Where a message of a device stands among those before it, by its number and its time.
//
//   number not above the last:   seen already, because a message that is sent again keeps its
//                                number and its time; unless its time is later than any before and
//                                its number at most half of the last: then the device counts anew
//   time before the last:        late; unless kMostLate of them came in a row, each later than the
//                                one before: then its clock has been set back
//
// So a sender that is exact (docs/streams.md) never seems to begin again: what it repeats is no
// later than what was taken. Without a time nobody can tell a restart from a repetition, and low
// numbers are refused.
#pragma once

#include <cstdint>

#include "server/stream/device.h"
#include "server/stream/sample.h"

namespace murmurate {

inline constexpr std::uint32_t kMostLate = 10;

enum class Standing : std::uint8_t { kNext, kDuplicate, kLate, kBeginsAgain };

/// `time_ns`: of the sample, or of its arrival if it has none. Counts late ones in `device`.
Standing StandingOf(const Sample& sample, std::int64_t time_ns, Device* device);

}  // namespace murmurate
