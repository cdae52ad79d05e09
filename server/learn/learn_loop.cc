#include "server/learn/learn_loop.h"

#include <utility>

namespace murmurate {

LearnLoop::LearnLoop(std::shared_ptr<ExperienceChannel> channel, std::unique_ptr<Learner> learner,
                     LearnCallbacks callbacks, std::function<std::int64_t()> now_ns)
    : channel_(std::move(channel)),
      learner_(std::move(learner)),
      callbacks_(std::move(callbacks)),
      now_ns_(std::move(now_ns)) {}

void LearnLoop::Publish() {
  if (callbacks_.on_snapshot) callbacks_.on_snapshot(learner_->TakeSnapshot());
  channel_->version.store(learner_->version(), std::memory_order_release);
}

void LearnLoop::PostRates(const Rates& rates) {
  const std::lock_guard lock(mutex_);
  rates_ = rates;
}

void LearnLoop::TakeRates() {
  const std::lock_guard lock(mutex_);
  if (rates_) learner_->SetRates(*rates_);
  rates_.reset();
}

bool LearnLoop::PollOnce(std::chrono::milliseconds timeout) {
  if (channel_->version.load(std::memory_order_relaxed) == 0) {
    Publish();
    if (callbacks_.wake_ingest) callbacks_.wake_ingest();
  }
  const std::int64_t begin_ns = now_ns_();
  auto batch = channel_->ready.Pop(timeout);
  channel_->learner_waited_ns.fetch_add(now_ns_() - begin_ns, std::memory_order_relaxed);
  if (!batch) return false;
  const std::uint64_t trajectories = (*batch)->trajectories.size();
  TakeRates();
  const std::uint64_t environment_steps = channel_->environment_steps.load();
  channel_->staleness.Post((*batch)->trajectories, learner_->version());
  LearnReport report = learner_->Learn(**batch, environment_steps);
  if (report.left_out) {  // as if it had never come: a resumed run gets it again
    (*batch)->Clear();
    (void)channel_->empty.TryPush(std::move(*batch));
    return false;
  }
  if (!report.held_out) {
    if (callbacks_.on_learned) callbacks_.on_learned(report, environment_steps);
    Publish();
  }
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
