// RecordFormat: trajectories as they lie in a segment file. Everything is little-endian.
//
//   segment  | header                                                | record | record | ...
//   header     0  "MMRTRAJ" 0        8  u32 version (2)      12  u32 bytes of the header
//             16  u32 T             20  u32 bytes of spec    24  u64 xxh3 of the spec
//             32  the model's spec as text (ModelSpec::ToText, spaces included), zeros to a
//                 multiple of 64
//   record     0  "TREC"             4  u32 bytes of the record, a multiple of 64
//              8  u64 xxh3 of what follows, up to the record's end
//             16  u32 agent         20  u32 steps    24  u64 first_step    32  u64 version
//             40  u32 bytes of each column, in Column's order
//             84  u32 version changes, zeros up to 128
//            128  the columns as a trajectory's block holds them, each on a 64-byte border
//                 and the version changes, u16 step and u16 later each, up to such a border
//
// Version 1 had no version changes, and zeros in place of their number; it is read too.
// A record is written whole or not at all as far as a reader can tell: one that a killed process
// left half written has too few bytes or another hash.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "shared/trajectory/trajectory.h"

namespace murmurate {

inline constexpr std::size_t kRecordHeadBytes = 128;
inline constexpr std::size_t kRecordChangesBytes = 64;  ///< of the most version changes

/// The bytes that a segment begins with.
std::vector<std::byte> SegmentHeader(const ModelSpec& spec, int length);

struct SegmentInfo {
  ModelSpec spec;
  int length = 0;         ///< T
  std::size_t begin = 0;  ///< where the first record stands
};
/// kInvalidData in words: no segment, of another version, damaged.
Result<SegmentInfo> ReadSegmentHeader(std::span<const std::byte> file);

/// The longest record of a layout.
inline std::size_t MaxRecordBytes(const TrajectoryLayout& layout) {
  return kRecordHeadBytes + layout.block_bytes + kRecordChangesBytes;
}
/// Writes `view` into `record` (MaxRecordBytes of its layout) and returns how many bytes it took.
/// Allocates nothing.
std::size_t WriteRecord(const TrajectoryView& view, std::span<std::byte> record);

struct ReadRecord {
  std::size_t bytes = 0;  ///< 0: what stands there is no whole record
  bool intact = false;    ///< the hash is right, and `view` is filled, pointing into the file
  TrajectoryView view;
};
/// The record that begins `rest`, which lies on a border of 8 bytes. What the view means is not
/// checked (CheckTrajectory does).
ReadRecord ReadRecordAt(std::span<const std::byte> rest);

}  // namespace murmurate
