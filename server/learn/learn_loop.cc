#include "server/learn/learn_loop.h"

#include <utility>

namespace murmurate {

LearnLoop::LearnLoop(std::shared_ptr<ExperienceChannel> channel, std::unique_ptr<Learner> learner,
                     LearnCallbacks callbacks)
    : channel_(std::move(channel)),
      learner_(std::move(learner)),
      callbacks_(std::move(callbacks)) {}

void LearnLoop::Publish() {
  if (callbacks_.on_snapshot) callbacks_.on_snapshot(learner_->TakeSnapshot());
  channel_->version.store(learner_->version(), std::memory_order_release);
}

bool LearnLoop::PollOnce(std::chrono::milliseconds timeout) {
  if (channel_->version.load(std::memory_order_relaxed) == 0) {
    Publish();
    if (callbacks_.wake_ingest) callbacks_.wake_ingest();
  }
  auto batch = channel_->ready.Pop(timeout);
  if (!batch) return false;
  const std::uint64_t trajectories = (*batch)->trajectories.size();
  const LearnReport report = learner_->Learn(**batch, channel_->environment_steps.load());
  Publish();
  if (callbacks_.on_report) callbacks_.on_report(report);
  ++batches_;
  if (callbacks_.at_border) callbacks_.at_border(*learner_, batches_);
  (*batch)->Clear();
  (void)channel_->empty.TryPush(std::move(*batch));
  channel_->trajectories_done.fetch_add(trajectories, std::memory_order_release);
  if (callbacks_.wake_ingest) callbacks_.wake_ingest();
  return true;
}

}  // namespace murmurate
