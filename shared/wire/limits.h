// What a text inside a message may hold, in bytes; the room's own business.
#pragma once

#include <cstddef>

namespace murmurate::wire {

inline constexpr std::size_t kMaxSentence = 1024;
inline constexpr std::size_t kMaxTrouble = 240;  ///< four of them beside the counts of 64 models
inline constexpr std::size_t kMaxSpaces = 4096;
inline constexpr std::size_t kMaxSpec = 16 * 1024;
inline constexpr std::size_t kMaxAddress = 256;
inline constexpr std::size_t kMaxSegmentName = 255;
inline constexpr std::size_t kMaxReport = 240 * 1024;

}  // namespace murmurate::wire
