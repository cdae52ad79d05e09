// TrajectoryRecorder records one agent's steps in the blocks of its ring, and counts what is lost.
//
//   Start -> Record, SetReward, Record, SetReward, ... -> HandOver | Drop
//
// The reward of a step is final when SetReward is called (at the next Act, or End). Finished
// episodes and reported numbers are written into the block in hand. It stays in hand when its
// trajectory is dropped, and is taken in hand when there is something to keep and no trajectory
// open, so they leave with the next one; a block that is taken back unsent keeps its own. So a
// dropped trajectory falsifies no return. The game's thread; no lock, no allocation.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "client/block_columns.h"
#include "client/client_model.h"
#include "client/trajectory_ring.h"

namespace murmurate {

/// Counts of one agent, written by its thread alone, read by any.
struct AgentCounts {
  std::atomic<std::uint64_t> steps{0};             ///< taken to be learned from
  std::atomic<std::uint64_t> evaluation_steps{0};  ///< taken in the other modes
  std::atomic<std::uint64_t> steps_dropped{0}, trajectories_dropped{0};
  std::atomic<std::uint64_t> steps_overrun{0};       ///< dropped as newer ones needed their blocks
  std::atomic<std::uint64_t> steps_given_up{0};      ///< any mode: the policy's outputs overflowed
  std::atomic<std::uint64_t> rewards_not_finite{0};  ///< any mode: their trajectories are dropped
  static void Add(std::atomic<std::uint64_t>& count, std::uint64_t n) {
    count.store(count.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
};

class TrajectoryRecorder {
 public:
  TrajectoryRecorder(ClientModel* model, AgentCounts* counts) : model_(model), counts_(counts) {}

  /// Records into this ring's blocks from now on; null: nothing is recorded, and what the last
  /// ring's block in hand kept is forgotten.
  void Attach(TrajectoryRing* ring);
  bool attached() const { return ring_ != nullptr; }

  /// True when there is a block for a trajectory without dropping one that waits to be sent; it is
  /// kept for Start.
  bool ReserveBlock();
  /// False when libzmq holds every block: this one will not be recorded. The caller has counted it
  /// in model.credit; on false it is given back.
  bool Start(const VersionStamp& stamp, std::uint64_t first_step);
  /// The state and frames before the first step, to be filled between Start and the first Record;
  /// whole columns (state0, frames0) that a model without state or stacks does not have.
  std::span<float> state0() const;
  std::span<std::byte> frames0() const;
  bool open() const { return open_; }
  int steps() const { return block_->steps; }
  bool full() const { return block_->steps == length_; }
  /// The next step is played under `stamp`. False: that cannot be written into this trajectory, as
  /// the version is not a newer one of the same life of the model, or there were too many.
  bool ChangeVersion(const VersionStamp& stamp);

  /// `row`: of the layout's row_bytes(). `action`: its words. `mask`: empty where everything was
  /// allowed.
  void Record(std::span<const std::byte> row, std::span<const std::int32_t> action, float log_prob,
              bool first, std::span<const std::uint8_t> mask = {}) {
    const int t = block_->steps;
    columns_.StoreStep(t, row, action, log_prob, first);
    if (!mask.empty() || block_->masked) [[unlikely]] {
      columns_.StoreMask(t, mask, block_->masked);
      block_->masked = true;
    }
    if (first) episode_start_ = t;
    block_->steps = t + 1;
    if (block_->steps == length_) MarkFinished(true);
  }
  void SetReward(double reward) {
    columns_.StoreReward(block_->steps - 1, static_cast<float>(reward));
  }
  void Replace(std::span<const std::int32_t> action, float log_prob) {
    columns_.ReplaceAction(block_->steps - 1, action, log_prob);
  }
  void EndEpisode(EndKind kind, std::span<const std::byte> final_observation);
  bool finals_used_up() const { return block_->finals == ring_->layout().max_finals; }

  /// `next_observation` is what followed the last step; empty when that step ended its episode.
  void HandOver(std::span<const std::byte> next_observation, std::uint64_t agent_steps);
  /// The agent closes and will never see what follows: a last step inside an episode gives its
  /// observation as what followed the step before it.
  void HandOverUnfinished(std::uint64_t agent_steps);
  void Drop();
  /// Takes back the steps of the unfinished episode that are in the open block.
  void ForgetEpisode();

  /// Adds a finished episode. A full block drops its oldest ones; all are dropped when libzmq holds
  /// every block.
  void AddEpisode(const EpisodeRecord& episode);
  void AddReport(int name, double value);
  bool has_news() const { return block_ != nullptr && block_->episodes > 0; }
  /// A block with no steps: what waits of episodes and reports, when no trajectory is open.
  void HandOverNews(std::uint64_t agent_steps);
  /// The same, unless the last episode that waits is of this `mode`.
  void HandOverNewsBut(std::uint8_t mode, std::uint64_t agent_steps);
  /// The agent closes: nothing comes after this.
  void Finish() { Attach(nullptr); }

 private:
  bool AcquireBlock();
  void MarkFinished(bool finished) {
    if (finished != finished_) model_->finished.fetch_add(finished ? 1 : -1);
    finished_ = finished;
  }
  void Reclaim(TrajectoryBlock* block);
  void Leave(std::uint64_t agent_steps);

  ClientModel* const model_;
  AgentCounts* const counts_;
  TrajectoryRing* ring_ = nullptr;
  TrajectoryBlock* block_ = nullptr;  ///< in hand
  bool open_ = false;                 ///< a trajectory is recorded in it
  int length_ = 0;
  bool finished_ = false;  ///< counted in model.finished
  int episode_start_ = 0;  ///< where the running episode begins in the open block
  BlockColumns columns_;   ///< of block_, while a trajectory is open
};

}  // namespace murmurate
