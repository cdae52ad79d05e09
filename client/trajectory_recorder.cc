#include "client/trajectory_recorder.h"

#include <algorithm>

namespace murmurate {

void TrajectoryRecorder::Attach(TrajectoryRing* ring) {
  if (open()) Drop();
  if (block_ != nullptr) ring_->GiveBack(block_);
  block_ = nullptr;
  ring_ = ring;
  length_ = ring == nullptr ? 0 : ring->layout().length;
}

bool TrajectoryRecorder::TakeInHand() {
  if (block_ == nullptr && ring_ != nullptr) block_ = ring_->TakeFree();
  return block_ != nullptr;
}

bool TrajectoryRecorder::TakeBlock() {
  if (TakeInHand()) return true;
  if (ring_ != nullptr) block_ = ring_->TakeBackOldest();
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
    model_->started.fetch_sub(1, std::memory_order_acq_rel);
  } else if (block->reported) {  // of evaluation; those to come need not be
    std::fill_n(block->reports, kMaxReports, ReportSum{});
    block->reported = false;
  }
  block->steps = block->finals = 0;
  block->masked = false;
}

bool TrajectoryRecorder::Start(const VersionStamp& stamp, std::uint64_t first_step) {
  if (!TakeBlock()) {
    model_->started.fetch_sub(1, std::memory_order_acq_rel);
    return false;
  }
  open_ = true;
  block_->stamp = stamp;
  block_->first_step = first_step;
  episode_start_ = 0;
  FindColumns();
  return true;
}

void TrajectoryRecorder::FindColumns() {
  observation_ = ring_->ColumnOf<std::byte>(block_, Column::kObservation);
  action_ = ring_->ColumnOf<std::int32_t>(block_, Column::kAction);
  log_prob_ = ring_->ColumnOf<float>(block_, Column::kLogProb);
  reward_ = ring_->ColumnOf<float>(block_, Column::kReward);
  flags_ = ring_->ColumnOf<std::uint8_t>(block_, Column::kFlags);
}

std::span<float> TrajectoryRecorder::state0() const {
  return {ring_->ColumnOf<float>(block_, Column::kState0),
          static_cast<std::size_t>(ring_->layout().state_floats)};
}

std::span<std::byte> TrajectoryRecorder::frames0() const {
  return {ring_->ColumnOf<std::byte>(block_, Column::kFrames0),
          ring_->layout().column(Column::kFrames0).bytes};
}

/// From its first mask on a block has one for each step; the steps before it allowed everything.
void TrajectoryRecorder::RecordMask(std::span<const std::uint8_t> mask) {
  std::uint8_t* masks = ring_->ColumnOf<std::uint8_t>(block_, Column::kMask);
  const std::size_t width = static_cast<std::size_t>(ring_->layout().action.mask_bytes());
  const std::size_t before = static_cast<std::size_t>(block_->steps) * width;
  if (!block_->masked) std::fill_n(masks, before, std::uint8_t{1});
  block_->masked = true;
  if (mask.empty()) {
    std::fill_n(masks + before, width, std::uint8_t{1});
  } else {
    std::copy(mask.begin(), mask.end(), masks + before);
  }
}

void TrajectoryRecorder::Replace(std::span<const std::int32_t> action, float log_prob) {
  const std::size_t last = static_cast<std::size_t>(block_->steps - 1);
  std::copy(action.begin(), action.end(), action_ + last * action.size());
  log_prob_[last] = log_prob;
}

void TrajectoryRecorder::EndEpisode(EndKind kind, std::span<const std::byte> final_observation) {
  flags_[block_->steps - 1] |= kind == kTerminated ? kTerminatedFlag : kTruncatedFlag;
  episode_start_ = block_->steps;
  if (kind == kTerminated) return;
  std::byte* finals = ring_->ColumnOf<std::byte>(block_, Column::kFinalObservation);
  std::copy(final_observation.begin(), final_observation.end(),
            finals + static_cast<std::size_t>(block_->finals) * final_observation.size());
  ++block_->finals;
}

void TrajectoryRecorder::Leave(std::uint64_t agent_steps) {
  MarkFinished(false);
  block_->agent_steps = agent_steps;
  ring_->HandOver(block_);
  block_ = nullptr;
  open_ = false;
  // guard: TrajectoryRing.NoHandOverIsSleptThroughHoweverLateAStoreIsSeen: a block that waits is
  //   counted, seq_cst, after its hand-over and before `wanted` is read
  model_->ready.fetch_add(1, std::memory_order_seq_cst);
  model_->bell->Ring();
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
  const std::size_t width = ring_->layout().row_bytes();
  HandOver({observation_ + static_cast<std::size_t>(block_->steps) * width, width}, agent_steps);
}

void TrajectoryRecorder::Drop() {
  if (block_->steps > 0) {
    AgentCounts::Add(counts_->trajectories_dropped, 1);
    AgentCounts::Add(counts_->steps_dropped, static_cast<std::uint64_t>(block_->steps));
  }
  MarkFinished(false);
  model_->started.fetch_sub(1, std::memory_order_acq_rel);
  open_ = false;
  block_->steps = block_->finals = 0;
  block_->masked = false;
  if (block_->episodes > 0 || block_->reported) return;  // stays in hand
  ring_->GiveBack(block_);
  block_ = nullptr;
}

void TrajectoryRecorder::ForgetEpisode() {
  AgentCounts::Add(counts_->steps_dropped,
                   static_cast<std::uint64_t>(block_->steps - episode_start_));
  block_->steps = episode_start_;
  MarkFinished(full());
}

void TrajectoryRecorder::AddEpisode(const EpisodeRecord& episode) {
  if (!TakeBlock()) return;
  if (block_->episodes == block_->max_episodes && !MoveToSpare()) {
    EpisodeRecord* const episodes = ring_->EpisodesOf(block_);
    std::copy(episodes + 1, episodes + block_->episodes, episodes);
    --block_->episodes;
  }
  ring_->EpisodesOf(block_)[block_->episodes++] = episode;
}

/// More episodes than the agent's own block holds: all that it has goes on in one that does.
bool TrajectoryRecorder::MoveToSpare() {
  if (block_->spare) return false;
  TrajectoryBlock* const to = ring_->TakeSpare();
  if (to == nullptr) return false;
  std::memcpy(to->data, block_->data, ring_->pool().episodes_offset());
  std::copy_n(ring_->EpisodesOf(block_), block_->episodes, ring_->EpisodesOf(to));
  std::copy_n(block_->reports, kMaxReports, to->reports);
  to->stamp = block_->stamp;
  to->first_step = block_->first_step;
  to->steps = block_->steps;
  to->finals = block_->finals;
  to->episodes = block_->episodes;
  to->masked = block_->masked;
  to->reported = block_->reported;
  ring_->GiveBack(block_);
  block_ = to;
  FindColumns();
  return true;
}

void TrajectoryRecorder::AddReport(int name, double value) {
  if (!TakeBlock()) return;
  block_->reported = true;
  block_->reports[name].sum += value;
  ++block_->reports[name].count;
}

void TrajectoryRecorder::HandOverNews(std::uint64_t agent_steps) {
  if (open() || !has_news()) return;
  block_->stamp = {};
  block_->first_step = agent_steps;
  Leave(agent_steps);
}

}  // namespace murmurate
