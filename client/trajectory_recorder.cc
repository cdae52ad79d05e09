#include "client/trajectory_recorder.h"

#include <algorithm>

namespace murmurate {

void TrajectoryRecorder::Attach(TrajectoryRing* ring, std::span<EpisodeRecord> episodes) {
  if (open()) Drop();
  ring_ = ring;
  episodes_ = episodes;
  episode_first_ = episode_count_ = 0;
  reports_ = {};
  length_ = ring == nullptr ? 0 : ring->layout().length;
}

bool TrajectoryRecorder::TakeBlock() {
  block_ = ring_->TakeFree();
  if (block_ == nullptr) {
    block_ = ring_->TakeBackOldest();
    if (block_ == nullptr) return false;
    Reclaim(block_);
  }
  block_->steps = block_->finals = block_->episodes = 0;
  block_->masked = false;
  return true;
}

/// A block that was never sent: its steps are lost, its episodes and reports are not.
void TrajectoryRecorder::Reclaim(TrajectoryBlock* block) {
  if (block->steps > 0) {
    AgentCounts::Add(counts_->trajectories_dropped, 1);
    AgentCounts::Add(counts_->steps_dropped, static_cast<std::uint64_t>(block->steps));
    model_->started.fetch_sub(1, std::memory_order_acq_rel);
  }
  const std::span<const EpisodeRecord> older = ring_->Episodes(block);
  for (std::size_t i = older.size(); i-- > 0 && episode_count_ < episodes_.size();) {
    episode_first_ = (episode_first_ + episodes_.size() - 1) % episodes_.size();
    episodes_[episode_first_] = older[i];
    ++episode_count_;
  }
  if (block->steps == 0) return;  // its reports are of evaluation; these here need not be
  for (int i = 0; i < kMaxReports; ++i) {
    reports_[i].sum += block->reports[i].sum;
    reports_[i].count += block->reports[i].count;
  }
}

bool TrajectoryRecorder::Start(const VersionStamp& stamp, std::uint64_t first_step) {
  if (!TakeBlock()) {
    model_->started.fetch_sub(1, std::memory_order_acq_rel);
    return false;
  }
  block_->stamp = stamp;
  block_->first_step = first_step;
  episode_start_ = 0;
  observation_ = ring_->ColumnOf<std::byte>(block_, Column::kObservation);
  action_ = ring_->ColumnOf<std::int32_t>(block_, Column::kAction);
  log_prob_ = ring_->ColumnOf<float>(block_, Column::kLogProb);
  reward_ = ring_->ColumnOf<float>(block_, Column::kReward);
  flags_ = ring_->ColumnOf<std::uint8_t>(block_, Column::kFlags);
  return true;
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
  EpisodeRecord* episodes = ring_->ColumnOf<EpisodeRecord>(block_, Column::kEpisodes);
  for (std::size_t i = 0; i < episode_count_; ++i) episodes[i] = episodes_[Slot(i)];
  block_->episodes = static_cast<int>(episode_count_);
  block_->reports = reports_;
  block_->agent_steps = agent_steps;
  episode_first_ = episode_count_ = 0;
  reports_ = {};
  ring_->HandOver(block_);
  block_ = nullptr;
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
  if (episodes_.empty()) return;
  if (episode_count_ == episodes_.size()) {
    episode_first_ = Slot(1);
    --episode_count_;
  }
  episodes_[Slot(episode_count_++)] = episode;
}

void TrajectoryRecorder::AddReport(int name, double value) {
  reports_[name].sum += value;
  ++reports_[name].count;
}

void TrajectoryRecorder::HandOverNews(std::uint64_t agent_steps) {
  if (!has_news()) return;
  if (!TakeBlock()) {
    reports_ = {};
    return;
  }
  block_->stamp = {};
  block_->first_step = agent_steps;
  Leave(agent_steps);
}

}  // namespace murmurate
