// AgentTrajectory: when a trajectory of an agent may begin (the learner's pace), what of it is
// recorded, and when it is handed over. The game's thread; it waits for nothing and allocates
// nothing.
#pragma once

#include <cstdint>
#include <span>
#include <thread>

#include "client/agent_buffers.h"
#include "client/client_model.h"
#include "client/trajectory_recorder.h"
#include "shared/core/clock.h"

namespace murmurate {

class AgentTrajectory {
 public:
  AgentTrajectory(ClientModel& model, AgentCounts& counts)
      : model_(model), recorder_(&model, &counts) {}

  /// Blocks to record into, or none.
  void Attach(TrajectoryRing* ring);
  /// Where episodes and reports go.
  TrajectoryRecorder& recorder() { return recorder_; }
  bool attached() const { return recorder_.attached(); }
  bool open() const { return recorder_.open(); }
  /// The last action is the last step of the open block.
  bool recorded() const { return recorded_; }

  // Before a trajectory.
  /// What is played with `fitted` is recorded in training. Null while there are no blocks.
  bool WantsToRecord(const AgentBuffers* fitted) const {
    return recorder_.attached() &&
           (model_.without_policy != WithoutPolicy::kDefault || !fitted->policies->empty());
  }
  /// True when a trajectory may begin now; its credit is reserved then. `closed`: the client ends.
  bool MayBegin(const AgentBuffers& fitted, bool closed);
  /// What the agent would wait for may be what only this thread can bring.
  bool HoldsUpItsThread(const AgentBuffers& fitted) const;
  /// Opens a block, where there is one; its credit was reserved.
  void Start(const VersionStamp& stamp, std::uint64_t agent_steps, const AgentMemory& memory);

  // A step of it.
  /// It may go on under another version.
  bool may_change_version() const { return model_.changes_version.load(std::memory_order_relaxed); }
  void SetReward(double reward) {
    if (recorded_) recorder_.SetReward(reward);
  }
  void Record(std::span<const std::byte> row, std::span<const std::int32_t> action, float log_prob,
              bool first, std::span<const std::uint8_t> mask) {
    recorded_ = recorder_.open();
    if (recorded_) recorder_.Record(row, action, log_prob, first, mask);
  }
  /// It is open, and has all its steps.
  bool full() const { return recorder_.full(); }
  /// It is too old; the clock is read every few steps.
  bool Aged() {
    if (model_.pace == Pace::kLockstep || --steps_until_clock_ > 0) return false;
    steps_until_clock_ = kStepsBetweenClocks;
    return MonotonicNs() - begun_ns_ >= model_.max_trajectory_ns.load(std::memory_order_relaxed);
  }
  /// Notes where the trajectory is open. Called wherever one was begun or has left, and at each
  /// step: the game may have gone on in another thread.
  void NoteOpen() {
    if (model_.pace == Pace::kNever) return;
    const std::thread::id now = recorder_.open() ? std::this_thread::get_id() : std::thread::id();
    if (now == opened_in_) [[likely]]
      return;
    MoveOpen(now);
  }

  // After a step.
  /// The steps of the unfinished episode, where the last one is recorded, are taken back.
  void ForgetEpisode() {
    if (recorded_) recorder_.ForgetEpisode();
    recorded_ = false;
  }
  /// The last step ended the episode; `final_observation`: of one that was truncated.
  void EndEpisode(EndKind kind, std::span<const std::byte> final_observation) {
    if (recorded_) recorder_.EndEpisode(kind, final_observation);
    recorded_ = false;
  }
  /// `next`: what followed the last step; empty when that ended its episode.
  void HandOver(std::span<const std::byte> next, std::uint64_t agent_steps);
  void Drop();
  /// Hands over what is recorded, or drops it; nothing else may be called afterwards.
  void Close(double step_reward, std::uint64_t agent_steps);

 private:
  static constexpr int kStepsBetweenClocks = 16;
  void MoveOpen(std::thread::id now);

  ClientModel& model_;
  TrajectoryRecorder recorder_;
  bool recorded_ = false;
  std::thread::id opened_in_;  ///< where the open trajectory is counted; none: nowhere
  std::int64_t begun_ns_ = 0;
  int steps_until_clock_ = 0;
};

}  // namespace murmurate
