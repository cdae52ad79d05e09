#include "server/learn/learn_loop.h"

#include <utility>

namespace murmurate {

LearnLoop::LearnLoop(std::shared_ptr<ExperienceChannel> channel, std::unique_ptr<Learner> learner,
                     LearnCallbacks callbacks, std::function<std::int64_t()> now_ns,
                     std::shared_ptr<LearnTurns> turns)
    : channel_(std::move(channel)),
      learner_(std::move(learner)),
      callbacks_(std::move(callbacks)),
      turns_(turns ? std::move(turns) : std::make_shared<LearnTurns>()),
      now_ns_(std::move(now_ns)) {}

/// The number first: no actor may play under a version that ingest does not know.
void LearnLoop::Publish() {
  const std::uint64_t version = learner_->version();
  std::uint64_t newest = channel_->version.load(std::memory_order_relaxed);
  while (newest < version &&
         !channel_->version.compare_exchange_weak(newest, version, std::memory_order_release,
                                                  std::memory_order_relaxed)) {
  }
  if (callbacks_.on_snapshot) callbacks_.on_snapshot(learner_->MakeSnapshot());
}

void LearnLoop::PostRates(const Rates& rates) {
  const std::lock_guard lock(mutex_);
  rates_ = rates;
}

void LearnLoop::ApplyPostedRates() {
  const std::lock_guard lock(mutex_);
  if (rates_) learner_->SetRates(*rates_);
  rates_.reset();
}

/// False: the batch was left out, as if it had never come: a resumed run gets it again.
bool LearnLoop::Learn(TrainingBatch& batch, bool held_out) {
  ApplyPostedRates();
  StepCount steps = channel_->steps();
  channel_->staleness.Post(batch.trajectories, channel_->version.load());
  const LearnReport report = learner_->Learn(batch, steps.learned);
  if (report.left_out) return false;
  if (!report.held_out) {
    if (!channel_->fed)
      steps.learned =
          channel_->learned_steps.fetch_add(report.trained_steps) + report.trained_steps;
    if (callbacks_.on_learned) callbacks_.on_learned(report, steps);
    Publish();
  }
  if (callbacks_.on_report) callbacks_.on_report(report);
  turns_->Count();
  if (callbacks_.at_border && (!callbacks_.border_due || callbacks_.border_due()))
    turns_->Alone(held_out, [this] { callbacks_.at_border(*learner_, turns_->batches()); });
  return true;
}

bool LearnLoop::PollOnce(std::chrono::milliseconds timeout) {
  if (channel_->version.load(std::memory_order_relaxed) == 0) {
    Publish();
    if (callbacks_.wake_ingest) callbacks_.wake_ingest();
  }
  const std::int64_t begin_ns = now_ns_();
  auto batch = turns_->Next(*channel_, timeout);
  channel_->learner_waited_ns.fetch_add(now_ns_() - begin_ns, std::memory_order_relaxed);
  if (!batch) return false;
  const std::uint64_t trajectories = batch->trajectories.size();
  const bool held_out = batch->samples == TrainingBatch::Samples::kHeldOut;
  const bool learned = Learn(*batch, held_out);
  batch->Clear();
  (void)channel_->empty.TryPush(std::move(batch));
  if (learned) channel_->trajectories_done.fetch_add(trajectories, std::memory_order_release);
  turns_->Done(held_out);
  if (learned && callbacks_.wake_ingest) callbacks_.wake_ingest();
  return learned;
}

}  // namespace murmurate
