// ClosedWindows: which rows of a replay can be sampled: the closed ones, whose sample will never
// have more steps than it has now. A row is open as long as a later chunk of its agent may still
// add steps to its window: up to n - 1 rows of an agent are. It is closed when
//
//   * the n - 1 rows after it are there, or its episode ended in them; or
//   * its chain ended: the agent's next chunk does not follow. Its window is then shorter.
//
// Of sequences only the first row of a chunk can be sampled, and no end of an episode closes it.
// The open rows of an agent that is gone stay open until they are evicted.
#pragma once

#include <cstdint>

#include "server/replay/replay_rows.h"
#include "server/replay/sample_form.h"

namespace murmurate {

class ClosedWindows {
 public:
  /// Marks the closed rows of `rows`, which must outlive it.
  ClosedWindows(const SampleForm& form, ReplayRows* rows) : form_(form), rows_(rows) {}

  /// After a chunk was inserted. visit(row) is called of each row that this closes.
  template <typename Visit>
  void Added(std::uint64_t chunk, const Visit& visit) {
    Close(chunk, form_.length, visit);
  }
  /// Before a chunk is inserted that ends the chain of which `last` is the last one.
  template <typename Visit>
  void Ended(std::uint64_t last, const Visit& visit) {
    Close(last, 0, visit);
  }
  /// After these rows were evicted.
  void Evicted(std::uint64_t first, std::uint64_t count) {
    closed_ -= rows_->ring().CountMarked(first, count);
  }

  std::uint64_t closed() const { return closed_; }
  bool IsClosed(std::uint64_t row) const { return rows_->ring().Marked(row); }

 private:
  /// Closes what is open back from the end of a chain, but the rows with fewer than `length` rows
  /// from them to that end.
  template <typename Visit>
  void Close(std::uint64_t last, int length, const Visit& visit);

  bool EndsEpisode(std::uint64_t row) const {
    return (rows_->ring().Flags(row) & (kTerminatedFlag | kTruncatedFlag)) != 0;
  }

  const SampleForm form_;
  ReplayRows* const rows_;
  std::uint64_t closed_ = 0;
};

template <typename Visit>
void ClosedWindows::Close(std::uint64_t last, int length, const Visit& visit) {
  bool ended = false;
  int count = 0;  // rows from here to the end of the chain
  for (std::uint64_t number = last; number != Chunk::kNone; number = rows_->At(number).previous) {
    const Chunk& chunk = rows_->At(number);
    for (int step = chunk.steps - 1; step >= 0; --step) {
      const std::uint64_t row = chunk.first_row + static_cast<std::uint64_t>(step);
      ++count;
      ended = ended || (!form_.sequence && EndsEpisode(row));
      if (form_.sequence && step > 0) continue;
      if (rows_->ring().Marked(row)) return;
      if (!ended && count < length) continue;
      rows_->ring().Mark(row);
      ++closed_;
      visit(row);
    }
  }
}

}  // namespace murmurate
