// All limits of the protocol, in one table: bytes, unless they say otherwise.
#pragma once

#include <cstddef>
#include <cstdint>

namespace murmurate::wire {

// ---- A message. The header and the metadata are frames of their own, and so is a block.
inline constexpr std::size_t kHeaderBytes = 32;
inline constexpr std::size_t kMaxMetadataBytes = 4096;
/// JOIN lists specs, ADMIN_OK holds a report, SAMPLE has as many numbers as the stream: the
/// metadata of these may be larger.
inline constexpr std::size_t kMaxGreetingBytes = 256 * 1024;
/// FORECAST: 4096 values at as many horizons, in doubles.
inline constexpr std::size_t kMaxForecastBytes = 320 * 1024;
/// HELLO and HELLO_OK: 4 and 12 bytes an agent beside names, spaces and specs.
inline constexpr std::size_t kMaxHelloBytes = 1024 * 1024;
inline constexpr std::size_t kChunkBytes = 256 * 1024;
inline constexpr std::uint64_t kMaxWeightsBytes = 4ull << 30;

// ---- Texts.
inline constexpr std::size_t kMaxSentence = 1024;
inline constexpr std::size_t kMaxTrouble = 240;  ///< four of them beside the counts of 64 models
inline constexpr std::size_t kMaxSpaces = 4096;
inline constexpr std::size_t kMaxSpec = 16 * 1024;
inline constexpr std::size_t kMaxArrayList = 128 * 1024;  ///< of JOIN, whose model may be arrays
inline constexpr std::size_t kMaxAddress = 256;
inline constexpr std::size_t kMaxSegmentName = 255;
inline constexpr std::size_t kMaxReport = 240 * 1024;
inline constexpr std::size_t kMaxSampleName = 128;  ///< of a device, or an id

// ---- Counts.
inline constexpr std::size_t kMaxModels = 64;     ///< of one client
inline constexpr std::size_t kMaxAgents = 65536;  ///< of one client, all its models together
inline constexpr std::size_t kMaxReportedNumbers = 16;
inline constexpr std::size_t kMaxPingTroubles = 4;
inline constexpr std::size_t kMaxSettings = 32;
inline constexpr std::uint32_t kMaxPullCredit = 1024;  ///< chunks of one PULL
inline constexpr std::size_t kMaxStreamFields = 256;
inline constexpr std::size_t kMaxForecastValues = 4096;
inline constexpr std::size_t kMaxHorizons = 4096;
inline constexpr std::size_t kMaxQuantiles = 64;
inline constexpr std::size_t kMaxForecastNumbers = 32'768;  ///< quantiles of all values together
inline constexpr std::size_t kMaxCommittedDevices = 64;     ///< of one message

}  // namespace murmurate::wire
