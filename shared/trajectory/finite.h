// Checks that a game's numbers are finite in the same pass over memory that copies them: a message
// of 256 KiB is read once instead of twice.
#pragma once

#include <span>

namespace murmurate {

bool AllFinite(std::span<const float> values);

enum class CopyKind {
  kOrdinary,
  /// Stores past the cache, which need not read the destination's lines before they are
  /// overwritten: for columns so large that they leave the cache before they are read.
  kPastCache,
};
/// Copies `source` whole and returns AllFinite(source).
bool CopyFinite(float* destination, std::span<const float> source, CopyKind kind);

}  // namespace murmurate
