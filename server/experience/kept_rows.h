// KeptRows: rows of observations that an ExperienceStore keeps at places which do not move, so that a
// device can have a copy of all of them, and a batch of samples names rows by their places:
//
//   store --PopWritten--> device: the rows that changed          TrainingBatch::kept
//   batch of samples: each row of an observation is one word, KeptRows::WordOf its place
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace murmurate {

class KeptRows {
 public:
  /// Places that follow each other, whose rows do so in memory, too.
  struct Range {
    std::uint32_t first = 0, count = 0;
  };
  /// The word that stands for zeros: what lies before an episode in a stack of frames.
  static constexpr std::uint32_t kZeros = 0;
  static std::uint32_t WordOf(std::uint32_t place) { return place + 1; }

  virtual ~KeptRows() = default;
  virtual std::uint32_t places() const = 0;
  virtual const std::byte* RowAt(std::uint32_t place) const = 0;
  /// What was written since the last call, in order. The thread of the store.
  virtual std::vector<Range> PopWritten() = 0;
};

}  // namespace murmurate
