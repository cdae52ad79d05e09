// TrajectoryRecorder: writes what one agent lives into the blocks of its ring, and counts what is
// lost.
//
//   Start -> Record, Settle, Record, Settle, ... -> HandOver | Drop
//
// The reward of a step is final when Settle is called (at the next Act, or End). Finished episodes
// and reported numbers are written into the block in hand. It stays in hand when its trajectory is
// dropped, and is taken in hand when there is something to keep and no trajectory open, so they
// leave with the next one; a block that is taken back unsent keeps its own. So a dropped trajectory
// falsifies no return. The game's thread; no lock, no allocation.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

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

  /// Blocks for a layout, or none: nothing is recorded then, and what the last ring's block in hand
  /// kept is forgotten.
  void Attach(TrajectoryRing* ring);
  bool attached() const { return ring_ != nullptr; }

  /// Whether there is a block for a trajectory without dropping one that waits to be sent; it is
  /// kept for Start.
  bool TakeInHand();
  /// False when libzmq holds every block: this one will not be recorded. The caller has counted it
  /// in model.started; on false it is taken back.
  bool Start(const VersionStamp& stamp, std::uint64_t first_step);
  /// What the first step begins with, between Start and the first Record; whole columns (state0,
  /// frames0) that a model without state or stacks does not have.
  std::span<float> state0() const;
  std::span<std::byte> frames0() const;
  bool open() const { return open_; }
  int steps() const { return block_->steps; }
  bool full() const { return block_->steps == length_; }
  void Restamp(const VersionStamp& stamp) { block_->stamp = stamp; }

  /// `row`: of the layout's row_bytes(). `action`: its words. `mask`: empty where everything was
  /// allowed.
  void Record(std::span<const std::byte> row, std::span<const std::int32_t> action, float log_prob,
              bool first, std::span<const std::uint8_t> mask = {}) {
    const int t = block_->steps;
    std::memcpy(observation_ + static_cast<std::size_t>(t) * row.size(), row.data(), row.size());
    std::copy(action.begin(), action.end(), action_ + static_cast<std::size_t>(t) * action.size());
    if (!mask.empty() || block_->masked) [[unlikely]]
      RecordMask(mask);
    log_prob_[t] = log_prob;
    flags_[t] = first ? kFirst : 0;
    if (first) episode_start_ = t;
    block_->steps = t + 1;
    if (block_->steps == length_) MarkFinished(true);
  }
  void Settle(double reward) { reward_[block_->steps - 1] = static_cast<float>(reward); }
  void Replace(std::span<const std::int32_t> action, float log_prob);
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

  /// Of those that a block cannot hold the oldest give way; all do when libzmq holds every block.
  void AddEpisode(const EpisodeRecord& episode);
  void AddReport(int name, double value);
  bool has_news() const { return block_ != nullptr && block_->episodes > 0; }
  /// A block with no steps: what waits of episodes and reports, when no trajectory is open.
  void HandOverNews(std::uint64_t agent_steps);
  /// The agent closes: nothing comes after this.
  void Finish() { Attach(nullptr); }

 private:
  bool TakeBlock();
  void FindColumns();
  bool MoveToSpare();
  void RecordMask(std::span<const std::uint8_t> mask);
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
  std::byte* observation_ = nullptr;
  std::int32_t* action_ = nullptr;
  float *log_prob_ = nullptr, *reward_ = nullptr;
  std::uint8_t* flags_ = nullptr;
};

}  // namespace murmurate
