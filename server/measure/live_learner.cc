#include "server/measure/live_learner.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "server/network/actor_critic.h"
#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {

Result<std::unique_ptr<LiveLearner>> LiveLearner::Make(Options options) {
  std::unique_ptr<LiveLearner> learner(new LiveLearner(std::move(options)));
  MURMURATE_RETURN_IF_ERROR(learner->Open());
  return learner;
}

LiveLearner::LiveLearner(Options options)
    : options_(std::move(options)), parameters_(ParameterLayout(options_.spec).total) {
  InitializeParameters(options_.spec, 1, parameters_);
}

Status LiveLearner::Open() {
  const auto family = SisterAddresses(options_.address);
  if (!family.ok()) return family.status();
  channel_ = std::make_shared<ExperienceChannel>(options_.spec, options_.trajectory_length,
                                                 options_.batch);
  auto publishing = Publishing::Open(context_, {family->announce,
                                                family->weights,
                                                "bench-" + std::to_string(getpid()),
                                                kIncarnation,
                                                options_.shm,
                                                {}});
  if (!publishing.ok()) return publishing.status();
  publishing_ = *std::move(publishing);
  auto segment = publishing_->AddModel("default", options_.spec, options_.shm);
  if (!segment.ok()) return segment.status();
  segment_ = *std::move(segment);
  IngestOptions listening;
  listening.listen = {options_.address};
  listening.incarnation = kIncarnation;
  listening.shm = options_.shm;
  auto ingest = Ingest::Open(context_, listening, [this](const std::string&, const Spaces&) {
    OfferedModel offered;
    offered.channel = channel_;
    offered.segment = segment_;
    offered.max_trajectory_s = 60;
    return Result<OfferedModel>(offered);
  });
  if (!ingest.ok()) return ingest.status();
  ingest_ = *std::move(ingest);
  loop_ = std::make_unique<Loop>("bench-learner", [this] { Round(); });
  return {};
}

LiveLearner::~LiveLearner() { loop_.reset(); }

std::vector<std::uint64_t> LiveLearner::PopHandOvers() {
  std::lock_guard lock(mutex_);
  return std::move(hand_overs_);
}

void LiveLearner::Publish(std::int64_t now_ns) {
  next_publish_ns_ = now_ns + options_.publish_every_ns;
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->version = ++version_;
  snapshot->act = options_.act;
  snapshot->parameters = AlignedFloats(parameters_.size());
  std::copy(parameters_.begin(), parameters_.end(), snapshot->parameters.begin());
  publishing_->Post("default", std::move(snapshot));
  channel_->version.store(version_);
}

void LiveLearner::Round() {
  ingest_->PollOnce(1);
  const std::int64_t now_ns = MonotonicNs();
  if (now_ns >= next_publish_ns_ && (version_ == 0 || !paused_.load())) Publish(now_ns);
  publishing_->PollOnce(0);
  while (auto batch = channel_->ready.TryPop()) {
    const auto count = (*batch)->trajectories.size();
    {
      std::lock_guard lock(mutex_);
      for (const BatchTrajectory& t : (*batch)->trajectories) {
        hand_overs_.push_back(t.first_step + static_cast<std::uint64_t>(t.steps));
      }
    }
    (*batch)->Clear();
    (void)channel_->empty.TryPush(std::move(*batch));
    channel_->credit.fetch_add(count);
  }
}

}  // namespace murmurate
