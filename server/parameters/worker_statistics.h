// WorkerStatistics: what a worker has seen of observations and returns, and what all workers have,
// as shard 0 sums it up (seen_statistics.h). It lies behind the numbers of shard 0's blocks.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "server/parameters/moments.h"
#include "shared/core/aligned_floats.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/state.h"

namespace murmurate {

class WorkerStatistics {
 public:
  explicit WorkerStatistics(const ParameterLayout& layout);

  /// A whole block of which the statistics are those that this worker has seen; empty: the model
  /// has none.
  std::span<float> own() { return own_; }
  /// Begins with those of a block that was read from a file.
  void Begin(std::span<const float> parameters);
  /// Has seen nothing: another worker brought the parameters, and the file's with them.
  void ForgetOwn();
  /// Writes what all have seen into a whole block.
  void WriteSeen(std::span<float> parameters) const;

  void ShareReturns(const Moments& own) { own_returns_ = own; }
  std::optional<Moments> PopReturns() { return std::exchange(all_returns_, std::nullopt); }

  /// What follows a block's numbers, as it is pushed and as it is answered.
  void Put(std::span<float> to) const;
  void Receive(std::span<const float> from);

  void Save(const StateWriter& writer) const;

 private:
  std::span<const float> OwnStatistics() const;

  const ParameterLayout layout_;
  AlignedFloats own_, seen_;            ///< a whole block; statistics alone, by all
  Moments own_returns_;                 ///< seen here
  std::optional<Moments> all_returns_;  ///< as shard 0 said, since PopReturns
};

}  // namespace murmurate
