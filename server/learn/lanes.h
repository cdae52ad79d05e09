// Lanes: trajectories side by side, a step of each after the other, as a recurrent network sees
// them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "server/experience/training_batch.h"
#include "server/network/sequences.h"
#include "shared/core/aligned_floats.h"

namespace murmurate {

/// One row that the network sees.
struct SeenRow {
  static constexpr std::int32_t kPadding = -1;
  std::int32_t row = kPadding;           ///< of the batch
  float weight = 1.0f;                   ///< times the batch's own
  const std::byte* successor = nullptr;  ///< not null: instead what followed that row
};

/// Calls add(row) for what followed the truncations and the end of the trajectory in a slot.
template <typename Add>
void ForSuccessors(const TrainingBatch& batch, int slot, Add add) {
  const std::int32_t first = slot * batch.length;
  const std::int32_t last = first + batch.trajectories[slot].steps - 1;
  auto final = std::lower_bound(batch.final_row.begin(), batch.final_row.end(), first);
  for (; final != batch.final_row.end() && *final <= last; ++final) {
    const auto i = static_cast<std::size_t>(final - batch.final_row.begin());
    add(SeenRow{.row = *final, .successor = batch.FinalRow(i)});
  }
  if ((batch.flags[last] & (kTerminatedFlag | kTruncatedFlag)) == 0)
    add(SeenRow{.row = last, .successor = batch.NextRow(static_cast<std::size_t>(slot))});
}

class Lanes {
 public:
  /// Holds at most `lanes` trajectories of `longest` rows at once, successors among them.
  Lanes(int lanes, int longest, int state_floats);

  /// Writes steps [from, to) of trajectories to `rows`, time-major, each with its weight (none: 1),
  /// and where `successors` what followed those of them that were truncated or the last. Each begins
  /// with the state it came with, the first where it came with several.
  void Lay(const TrainingBatch& batch, std::span<const int> slots, std::span<const float> weights,
           int from, int to, bool successors, std::vector<SeenRow>* rows);

  /// The sequences that the rows laid last make.
  const Sequences& sequences() const { return sequences_; }
  /// The same; the state after their last step goes to where BeginWithStateAfter finds it.
  const Sequences& SequencesKeepingState();
  void BeginWithStateAfter() { sequences_.state0 = state_after_.data(); }
  /// That of the i-th lane.
  std::span<const float> StateAfter(std::size_t lane) const {
    return {state_after_.data() + lane * states_, states_};
  }

 private:
  void LayOne(const TrainingBatch& batch, int slot, float weight, int from, int to, bool successors,
              std::vector<SeenRow>* lane) const;

  const std::size_t states_;
  std::vector<std::vector<SeenRow>> lane_;
  std::vector<std::uint8_t> first_;
  AlignedFloats state_, state_after_;  ///< [lanes][state]
  Sequences sequences_;
};

}  // namespace murmurate
