// Ledger: an algorithm that learns nothing and keeps account of what it is given: how many steps
// there were, and the sum of their hashes, which is the same in whatever order they came. A test
// reads from the weights of a checkpoint what exactly was learned from.
//
//   network "ledger"   head bias [16] = steps that were new    count, hash
//                                       steps of samples       count, hash
//
// Each of the four is 4 numbers of 16 bits, the lowest first, which floats hold exactly; sums wrap
// at 2^64. The optimizer adds them up: sgd with the rate 1 and a gradient of the difference.
//
// One learner: what others step meanwhile would be counted by neither.
#pragma once

#include <cstdint>
#include <span>

#include "server/learn/algorithm.h"
#include "shared/trajectory/trajectory.h"

namespace murmurate {

/// So many steps, and the sum of their hashes.
struct LedgerSum {
  std::uint64_t count = 0, hash = 0;
  void Add(std::uint64_t step_hash) {
    ++count;
    hash += step_hash;
  }
  friend bool operator==(const LedgerSum&, const LedgerSum&) = default;
};

struct LedgerSums {
  LedgerSum inserted;  ///< steps that were new
  LedgerSum sampled;   ///< steps of samples that weigh: the first of each window

  static constexpr int kNumbers = 16;
  /// From and to the numbers of the head's bias.
  static LedgerSums Of(std::span<const float> numbers);
  void CopyTo(std::span<float> numbers) const;
  /// Of the parameters of a model of this algorithm.
  static LedgerSums In(const ModelSpec& spec, std::span<const float> parameters);
};

/// Of step `i` of a trajectory: who played it, its number, what was seen and done, its reward and
/// its flags.
std::uint64_t HashOfStep(const TrajectoryView& view, int i);

const AlgorithmKind& LedgerKind();

}  // namespace murmurate
