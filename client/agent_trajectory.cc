#include "client/agent_trajectory.h"

#include <algorithm>

namespace murmurate {

void AgentTrajectory::Attach(TrajectoryRing* ring) {
  recorder_.Attach(ring);
  recorded_ = false;
  NoteOpen();
}

bool AgentTrajectory::MayBegin(const AgentBuffers& fitted, bool closed) {
  bool live = model_.live.load(std::memory_order_acquire);
  if (!live && !closed) {
    if (model_.comes_back()) return false;
    live = model_.live.load(std::memory_order_acquire);  // it may have come back just now
  }
  if (model_.pace == Pace::kNever || closed || !live) {
    model_.credit.Overdraw();
    return true;
  }
  const std::uint64_t newest = std::max(fitted.policies->version(), model_.weights.unplayable());
  if (newest < model_.at_version.load(std::memory_order_acquire)) return false;
  // guard: ClientOverBothPaths.WhatArrivesIsExactlyWhatWasPlayed: under a pace that waits, an agent
  //   waits for a free block
  // With every block on its way, the sender is behind: wait for it rather than drop.
  const int length = fitted.ring->layout().length;
  if (!model_.credit.Has(length) || !recorder_.ReserveBlock() || !model_.credit.Reserve(length)) {
    return false;
  }
  // The credit may be of a later version, or what a session that has just ended gave back.
  if (newest >= model_.at_version.load(std::memory_order_acquire) &&
      model_.live.load(std::memory_order_acquire))
    return true;
  model_.credit.GiveBack();
  return false;
}

/// Credit is for one batch under one version (lock-step, staleness "block") and all of it is spent:
/// the next comes when that batch is there, and part of it may be what another agent of this very
/// thread has not finished. Which agents these are follows from play alone, not from time, so a
/// run in lock-step repeats. Elsewhere a learner gives every agent of a client its credit.
bool AgentTrajectory::HoldsUpItsThread(const AgentBuffers& fitted) const {
  const bool rounds =
      model_.pace == Pace::kLockstep || model_.at_version.load(std::memory_order_acquire) > 0;
  if (!rounds || !model_.live.load(std::memory_order_acquire)) return false;
  if (fitted.policies->empty() && model_.without_policy == WithoutPolicy::kWait) return false;
  return !model_.credit.Has(fitted.ring->layout().length) &&
         model_.wakeup->open.AnyOf(std::this_thread::get_id());
}

void AgentTrajectory::Start(const VersionStamp& stamp, std::uint64_t agent_steps,
                            const AgentMemory& memory) {
  if (!recorder_.Start(stamp, agent_steps)) return;
  NoteOpen();
  memory.Write(recorder_.state0(), recorder_.frames0());
  begun_ns_ = MonotonicNs();
  steps_until_clock_ = kStepsBetweenClocks;
}

void AgentTrajectory::MoveOpen(std::thread::id now) {
  if (opened_in_ != std::thread::id()) model_.wakeup->open.Closed(opened_in_);
  if (now != std::thread::id()) model_.wakeup->open.Opened(now);
  opened_in_ = now;
}

void AgentTrajectory::HandOver(std::span<const std::byte> next, std::uint64_t agent_steps) {
  recorded_ = false;
  recorder_.HandOver(next, agent_steps);
  NoteOpen();
}

void AgentTrajectory::Drop() {
  recorded_ = false;
  recorder_.Drop();
  NoteOpen();
}

void AgentTrajectory::Close(double step_reward, std::uint64_t agent_steps) {
  if (recorder_.open()) {
    SetReward(step_reward);
    if (recorder_.steps() == 0) {
      recorder_.Drop();
    } else {
      recorder_.HandOverUnfinished(agent_steps);
    }
  }
  recorder_.HandOverNews(agent_steps);
  recorder_.Finish();
  NoteOpen();
}

}  // namespace murmurate
