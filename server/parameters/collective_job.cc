#include "server/parameters/collective_job.h"

#include <utility>

#include "shared/core/check.h"

namespace murmurate {

CollectiveJob::CollectiveJob(std::unique_ptr<Collective> collective)
    : collective_(std::move(collective)), watch_(collective_.get()) {}

Status CollectiveJob::SumAll(std::span<float> values, const RankMeeting& meeting) {
  watch_.Begin(meeting);
  const Status status = Sum(*collective_, values, &watch_);
  watch_.End();
  return status;
}

bool CollectiveJob::Went(const Status& status) {
  if (failure_.ok()) failure_ = status;
  return failure_.ok();
}

CollectiveJob::Decision CollectiveJob::Vote(bool stop, const std::atomic<bool>* interrupted,
                                            std::int64_t patience_ns) {
  if (!failure_.ok()) return Decision::kFailed;
  if (over_) return Decision::kOver;
  if (!voting_) {
    stops_[0] = stop ? 1.0f : 0.0f;
    if (!Went(collective_->BeginSum(stops_))) return Decision::kFailed;
    voting_ = true;
    watch_.Begin({.batch = batches_ + 1});
  }
  const Result<bool> done = Await(*collective_, interrupted, patience_ns, &watch_);
  if (!Went(done.status())) return Decision::kFailed;
  if (!*done) return Decision::kInterrupted;
  voting_ = false;
  watch_.End();
  over_ = stops_[0] > 0.0f;
  if (!over_) ++batches_;
  return over_ ? Decision::kOver : Decision::kNextBatch;
}

void CollectiveJob::AskToStop() {
  const std::atomic<bool> at_once{true};
  if (!voting_) (void)Vote(true, &at_once, kPatienceNs);
}

Status CollectiveJob::Leave() {
  if (const auto vote = std::exchange(vote_to_stop_, nullptr)) vote();
  (void)Vote(true);
  MURMURATE_RETURN_IF_ERROR(failure_);
  std::array<float, 1> here{1.0f};
  MURMURATE_RETURN_IF_ERROR(Sum(*collective_, here));  // waits as Await does; an engine may spin
  return collective_->Close();
}

}  // namespace murmurate
