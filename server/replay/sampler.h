// Sampler: draws the rows that samples begin at, among the closed ones: all with the same chance,
// or by their priorities.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "server/replay/closed_windows.h"
#include "server/replay/priorities.h"
#include "server/replay/replay_rows.h"
#include "shared/core/random.h"

namespace murmurate {

class Sampler {
 public:
  /// `rows` and `windows` must outlive it.
  Sampler(const ReplaySettings& settings, std::uint64_t seed, const ReplayRows* rows,
          const ClosedWindows* windows, BlockCursor& block);

  void Inserted(std::uint64_t first_row, std::uint64_t count);
  void Closed(std::uint64_t row);
  void Evicted(std::uint64_t first_row, std::uint64_t count);
  /// The |TD| of a sample that begins at a row; nothing happens if the row is no longer there, or
  /// all have the same chance.
  void SetError(std::uint64_t row, float error);

  /// Draws the rows of one minibatch, with repetition; a row is closed. Their weights: 1 where all
  /// have the same chance. What the weights were divided by: the largest (N P)^-beta, N being the
  /// closed rows and P a row's chance.
  double Draw(std::span<std::uint64_t> rows, std::span<float> weights);

  /// What decides the next draws from given rows.
  void Save(const StateWriter& writer) const;
  Status Load(const StateReader& reader);
  /// The priorities of the rows that are kept, and back, when the same rows are kept again.
  void SavePriorities(const StateWriter& writer) const;
  Status LoadPriorities(const StateReader& reader);

 private:
  std::uint64_t DrawEven();
  std::uint64_t DrawAny();

  const bool sequences_;
  const double importance_;
  Random random_;
  const ReplayRows* const rows_;
  const ClosedWindows* const windows_;
  std::optional<Priorities> priorities_;  ///< nothing: all have the same chance
  std::vector<std::size_t> places_;       ///< of a minibatch
};

}  // namespace murmurate
