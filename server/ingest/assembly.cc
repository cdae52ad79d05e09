#include "server/ingest/assembly.h"

#include <algorithm>
#include <utility>

#include "server/experience/pieces.h"
#include "server/ingest/event_log.h"
#include "shared/core/clock.h"

namespace murmurate {
Assembly::Assembly(std::string name, OfferedModel model, std::int64_t now_ns)
    : name_(std::move(name)),
      model_(std::move(model)),
      fit_(model_.channel->shape(), model_.sizing),
      shape_(model_.channel->shape()),
      last_added_ns_(now_ns),
      last_handed_ns_(now_ns),
      positions_(static_cast<std::size_t>(model_.channel->batches) + 2) {}

bool Assembly::AcquireBatch(std::int64_t now_ns) {
  if (batch_ != nullptr) return true;
  std::optional<std::unique_ptr<TrainingBatch>> free = model_.channel->empty.TryPop();
  if (!free) return false;
  batch_ = std::move(*free);
  batch_->Clear();
  if (ShapeOf(*batch_) != shape_) Reshape();
  steps_given_.clear();
  batch_since_ns_ = now_ns;
  return true;
}

void Assembly::Reshape() {
  ExperienceChannel& channel = *model_.channel;
  auto other = std::make_unique<TrainingBatch>(TrajectoryLayout(channel.spec, shape_.length),
                                               shape_.trajectories, channel.batch_memory);
  CountLeftOut(MoveInPieces(*batch_, other.get()));
  batch_ = std::move(other);
}

void Assembly::CountLeftOut(std::uint64_t steps) {
  model_.channel->refused_late_steps.fetch_add(steps, std::memory_order_relaxed);
}

void Assembly::SetShape(const BatchShape& shape) {
  shape_ = shape;
  if (batch_ != nullptr && ShapeOf(*batch_) != shape_) Reshape();
}

Assembly::Outcome Assembly::TryAdd(const TrajectoryView& view, std::int64_t now_ns) {
  if (!AcquireBatch(now_ns) || batch_->full()) return Outcome::kNoRoom;
  if (view.steps == 0) {
    const std::size_t limit = static_cast<std::size_t>(batch_->capacity) *
                              static_cast<std::size_t>(model_.channel->layout.max_episodes);
    if (batch_->episodes.size() + view.episodes.size() > limit) return Outcome::kTooManyEpisodes;
    batch_->AddEpisodes(view.episodes);
    return Outcome::kAdded;
  }
  const bool first = batch_->trajectories.empty();
  const int steps = AddInPieces(view, batch_.get());
  if (steps < 0) return Outcome::kBadObservation;
  CountLeftOut(static_cast<std::uint64_t>(view.steps - steps));
  if (model_.record) model_.record(view);
  if (first) batch_since_ns_ = now_ns;
  steps_given_[view.agent] += view.steps;
  model_.channel->received_trajectories.fetch_add(1, std::memory_order_relaxed);
  last_added_ns_ = now_ns;
  return Outcome::kAdded;
}

void Assembly::Keep(std::unique_ptr<WaitingBlock> block, std::int64_t now_ns) {
  if (waiting_.empty()) kept_since_ns_ = now_ns;
  waiting_.push_back(std::move(block));
}

void Assembly::AddKept(std::int64_t now_ns,
                       const std::function<void(WaitingBlock&, Outcome)>& added) {
  if (!waiting_.empty()) {
    model_.channel->ingest_waited_ns.fetch_add(now_ns - kept_since_ns_, std::memory_order_relaxed);
    kept_since_ns_ = now_ns;
  }
  while (!waiting_.empty()) {
    const Outcome outcome = TryAdd(waiting_.front()->view, now_ns);
    if (outcome == Outcome::kNoRoom) return;
    const std::unique_ptr<WaitingBlock> block = std::move(waiting_.front());
    waiting_.pop_front();
    added(*block, outcome);
  }
}

bool Assembly::old(int live_agents, std::int64_t now_ns) const {
  if (batch_ == nullptr || batch_->trajectories.empty() || live_agents == 0) return false;
  if (static_cast<double>(now_ns - batch_since_ns_) * 1e-9 < model_.max_batch_s) return false;
  int given = 0;
  for (const auto& [agent, steps] : steps_given_) given += steps >= 2 * shape_.length;
  return given >= live_agents;
}

bool Assembly::quorum(int finished, int live_agents, std::int64_t now_ns) {
  const bool enough = batch_ != nullptr && !batch_->trajectories.empty() && finished > 0 &&
                      finished >= model_.quorum * live_agents;
  if (!enough || quorum_since_ns_ < 0) quorum_since_ns_ = enough ? now_ns : -1;
  return enough && static_cast<double>(now_ns - quorum_since_ns_) * 1e-9 >= model_.quorum_wait_s;
}

BlockRefusal Assembly::MayTake(const TrajectoryView& view, bool of_this_life) const {
  if (waiting_.size() >= kMaxWaiting) {
    return {wire::Refusal::kBusy,
            "the learner is " + std::to_string(kMaxWaiting) + " blocks behind; send less often"};
  }
  if (!model_.current_only || view.steps == 0) return {};
  if (!of_this_life) {
    return {wire::Refusal::kStale,
            "model " + name_ + " takes experience of its current version only, and this was " +
                "played under version " + std::to_string(view.version) +
                " of the learner that this one goes on from"};
  }
  if (view.version > closed_version_) return {};
  return {wire::Refusal::kStale,
          "model " + name_ + " takes experience of its current version only, and the batch of " +
              "version " + std::to_string(view.version) + " is closed"};
}

void Assembly::HandOver(bool sorted, std::int64_t now_ns) {
  quorum_since_ns_ = -1;
  // A version that a sender states closes nothing: a number too large would close all to come.
  closed_version_ = model_.channel->version.load(std::memory_order_acquire);
  if (sorted) batch_->Sort();
  ++handed_;
  if (!model_.channel->ready.TryPush(std::move(batch_))) batch_->Clear();  // closed: none learns
  last_handed_ns_ = now_ns;
}

std::span<const Assembly::Position> Assembly::PositionsOf(std::uint64_t number) const {
  if (number == 0) return first_positions;
  if (number > handed_ || handed_ - number + 1 >= positions_.size()) return {};
  return positions_[(number - 1) % positions_.size()];
}

std::string Assembly::Waiting(int live_agents, std::int64_t now_ns) const {
  const std::int64_t waited = now_ns - std::max(last_added_ns_, last_handed_ns_);
  if (waited < kNanosecondsPerSecond) return "";
  const std::string subject = "model " + name_;
  const int at_home = static_cast<int>(model_.channel->empty.size()) + (batch_ != nullptr);
  const int with_learner = model_.channel->batches - at_home;
  if (with_learner > 0) {
    return subject + ": its actors wait for the learner, which has had " +
           std::to_string(with_learner) + (with_learner == 1 ? " full batch" : " full batches") +
           " for " + SecondsInWords(waited);
  }
  if (live_agents == 0) {
    return subject + " waits for an actor: none has played for " + SecondsInWords(waited);
  }
  const std::size_t have = batch_ == nullptr ? 0 : batch_->trajectories.size();
  return subject + " waits for experience: " + std::to_string(have) + " of " +
         std::to_string(shape_.trajectories) + " trajectories, none for " + SecondsInWords(waited) +
         ", from " + std::to_string(live_agents) + " live " +
         (live_agents == 1 ? "agent" : "agents");
}

}  // namespace murmurate
