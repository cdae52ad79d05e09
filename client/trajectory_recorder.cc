#include "client/trajectory_recorder.h"

#include <algorithm>

namespace murmurate {

void TrajectoryRecorder::Attach(TrajectoryRing* ring) {
  if (open()) Drop();
  if (block_ != nullptr) ring_->ReturnUnused(block_);
  block_ = nullptr;
  ring_ = ring;
  length_ = ring == nullptr ? 0 : ring->layout().length;
}

bool TrajectoryRecorder::ReserveBlock() {
  if (block_ == nullptr && ring_ != nullptr) block_ = ring_->AcquireFree();
  return block_ != nullptr;
}

bool TrajectoryRecorder::AcquireBlock() {
  if (ReserveBlock()) return true;
  if (ring_ != nullptr) block_ = ring_->ReclaimOldest();
  if (block_ == nullptr) return false;
  model_->ready.fetch_sub(1, std::memory_order_relaxed);
  Reclaim(block_);
  return true;
}

/// A block that was never sent: its steps are lost, its episodes and reports are not.
void TrajectoryRecorder::Reclaim(TrajectoryBlock* block) {
  if (block->steps > 0) {
    AgentCounts::Add(counts_->trajectories_dropped, 1);
    AgentCounts::Add(counts_->steps_dropped, static_cast<std::uint64_t>(block->steps));
    AgentCounts::Add(counts_->steps_overrun, static_cast<std::uint64_t>(block->steps));
    model_->credit.GiveBack();
  } else if (block->reported) {  // of evaluation; those to come need not be
    std::fill_n(block->reports, kMaxReports, ReportSum{});
    block->reported = false;
  }
  block->steps = block->finals = 0;
  block->masked = false;
}

bool TrajectoryRecorder::Start(const VersionStamp& stamp, std::uint64_t first_step) {
  if (!AcquireBlock()) {
    model_->credit.GiveBack();
    return false;
  }
  open_ = true;
  block_->stamp = stamp;
  block_->changes.Clear();
  block_->first_step = first_step;
  episode_start_ = 0;
  columns_ = BlockColumns(*ring_, block_);
  return true;
}

bool TrajectoryRecorder::ChangeVersion(const VersionStamp& stamp) {
  if (block_->steps == 0) {
    block_->stamp = stamp;
    block_->changes.Clear();
    return true;
  }
  const std::uint64_t now = block_->stamp.version + block_->changes.later();
  if (stamp.incarnation != block_->stamp.incarnation || stamp.version < now) return false;
  return stamp.version == now || block_->changes.Add(static_cast<std::uint64_t>(block_->steps),
                                                     stamp.version - block_->stamp.version);
}

std::span<float> TrajectoryRecorder::state0() const {
  return {ring_->ColumnOf<float>(block_, Column::kState0),
          static_cast<std::size_t>(ring_->layout().state_floats)};
}

std::span<std::byte> TrajectoryRecorder::frames0() const {
  return {ring_->ColumnOf<std::byte>(block_, Column::kFrames0),
          ring_->layout().column(Column::kFrames0).bytes};
}

void TrajectoryRecorder::EndEpisode(EndKind kind, std::span<const std::byte> final_observation) {
  columns_.MarkEnd(block_->steps - 1, kind);
  episode_start_ = block_->steps;
  if (kind == kTerminated) return;
  std::byte* finals = ring_->ColumnOf<std::byte>(block_, Column::kFinalObservation);
  std::copy(final_observation.begin(), final_observation.end(),
            finals + static_cast<std::size_t>(block_->finals) * final_observation.size());
  ++block_->finals;
}

void TrajectoryRecorder::Leave(std::uint64_t agent_steps) {
  MarkFinished(false);
  block_->changes.Cut(block_->steps);
  block_->agent_steps = agent_steps;
  ring_->HandOver(block_);
  block_ = nullptr;
  open_ = false;
  // guard: TrajectoryRing.NoHandOverIsSleptThroughHoweverLateAStoreIsSeen: a block that waits is
  //   counted, seq_cst, after its hand-over and before `wanted` is read
  model_->ready.fetch_add(1, std::memory_order_seq_cst);
  model_->wakeup->Notify();
}

void TrajectoryRecorder::HandOver(std::span<const std::byte> next_observation,
                                  std::uint64_t agent_steps) {
  std::byte* next = ring_->ColumnOf<std::byte>(block_, Column::kNextObservation);
  std::fill_n(next, ring_->layout().row_bytes(), std::byte{0});
  std::copy(next_observation.begin(), next_observation.end(), next);
  Leave(agent_steps);
}

void TrajectoryRecorder::HandOverUnfinished(std::uint64_t agent_steps) {
  if (episode_start_ == block_->steps) return HandOver({}, agent_steps);
  --block_->steps;
  AgentCounts::Add(counts_->steps_dropped, 1);
  if (block_->steps == 0) return Drop();
  HandOver(columns_.Row(block_->steps, ring_->layout().row_bytes()), agent_steps);
}

void TrajectoryRecorder::Drop() {
  if (block_->steps > 0) {
    AgentCounts::Add(counts_->trajectories_dropped, 1);
    AgentCounts::Add(counts_->steps_dropped, static_cast<std::uint64_t>(block_->steps));
  }
  MarkFinished(false);
  model_->credit.GiveBack();
  open_ = false;
  block_->steps = block_->finals = 0;
  block_->masked = false;
  if (block_->episodes > 0 || block_->reported) return;  // stays in hand
  ring_->ReturnUnused(block_);
  block_ = nullptr;
}

void TrajectoryRecorder::ForgetEpisode() {
  AgentCounts::Add(counts_->steps_dropped,
                   static_cast<std::uint64_t>(block_->steps - episode_start_));
  block_->steps = episode_start_;
  const VersionStamp now{block_->stamp.incarnation,
                         block_->stamp.version + block_->changes.later()};
  block_->changes.Cut(block_->steps);
  (void)ChangeVersion(now);  // there is room: it took the place of one that was forgotten
  MarkFinished(full());
}

void TrajectoryRecorder::AddEpisode(const EpisodeRecord& episode) {
  if (!AcquireBlock()) return;
  if (block_->episodes == block_->max_episodes) {
    if (TrajectoryBlock* const roomier = ring_->MoveToSpare(block_)) {
      block_ = roomier;
      columns_ = BlockColumns(*ring_, block_);
    } else {
      EpisodeRecord* const episodes = ring_->EpisodesOf(block_);
      std::copy(episodes + 1, episodes + block_->episodes, episodes);
      --block_->episodes;
    }
  }
  ring_->EpisodesOf(block_)[block_->episodes++] = episode;
}

void TrajectoryRecorder::AddReport(int name, double value) {
  if (!AcquireBlock()) return;
  block_->reported = true;
  block_->reports[name].sum += value;
  ++block_->reports[name].count;
}

void TrajectoryRecorder::HandOverNewsBut(std::uint8_t mode, std::uint64_t agent_steps) {
  if (has_news() && ring_->EpisodesOf(block_)[block_->episodes - 1].mode != mode)
    HandOverNews(agent_steps);
}

void TrajectoryRecorder::HandOverNews(std::uint64_t agent_steps) {
  if (open() || !has_news()) return;
  block_->stamp = {};
  block_->changes.Clear();
  block_->first_step = agent_steps;
  Leave(agent_steps);
}

}  // namespace murmurate
