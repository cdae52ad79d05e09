// BlockColumns: the columns of the block that a recorder fills, and what one step writes into them.
// The game's thread; step `t` counts from 0 within the block.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "client/trajectory_ring.h"
#include "murmurate/client.h"

namespace murmurate {

class BlockColumns {
 public:
  BlockColumns() = default;
  BlockColumns(const TrajectoryRing& ring, const TrajectoryBlock* block);

  void StoreStep(int t, std::span<const std::byte> row, std::span<const std::int32_t> action,
                 float log_prob, bool first) {
    std::memcpy(observation_ + static_cast<std::size_t>(t) * row.size(), row.data(), row.size());
    std::copy(action.begin(), action.end(), action_ + static_cast<std::size_t>(t) * action.size());
    log_prob_[t] = log_prob;
    flags_[t] = first ? kFirst : 0;
  }
  /// An empty mask allows everything. `masked`: the steps before this one have masks; else they
  /// allowed everything and get theirs now.
  void StoreMask(int t, std::span<const std::uint8_t> mask, bool masked);
  void StoreReward(int t, float reward) { reward_[t] = reward; }
  void ReplaceAction(int t, std::span<const std::int32_t> action, float log_prob);
  void MarkEnd(int t, EndKind kind) {
    flags_[t] |= kind == kTerminated ? kTerminatedFlag : kTruncatedFlag;
  }
  std::span<const std::byte> Row(int t, std::size_t row_bytes) const {
    return {observation_ + static_cast<std::size_t>(t) * row_bytes, row_bytes};
  }

 private:
  std::byte* observation_ = nullptr;
  std::int32_t* action_ = nullptr;
  float *log_prob_ = nullptr, *reward_ = nullptr;
  std::uint8_t *flags_ = nullptr, *mask_ = nullptr;
  std::size_t mask_bytes_ = 0;  ///< of a step
};

}  // namespace murmurate
