#include "server/measure/live_learner.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "server/network/actor_critic.h"
#include "shared/core/clock.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {

LiveLearner::LiveLearner(Options options) : options_(std::move(options)) {
  const AddressFamily family = *SisterAddresses(options_.address);
  parameters_ = AlignedFloats(ParameterLayout(options_.spec).total);
  InitializeParameters(options_.spec, 1, parameters_);
  channel_ = std::make_shared<ExperienceChannel>(options_.spec, options_.trajectory_length,
                                                 options_.batch);
  publishing_ = *Publishing::Open(context_, {family.announce,
                                             family.weights,
                                             "bench-" + std::to_string(getpid()),
                                             kIncarnation,
                                             options_.shm,
                                             {}});
  segment_ = *publishing_->AddModel("default", options_.spec, options_.shm);
  IngestOptions ingest;
  ingest.listen = {options_.address};
  ingest.incarnation = kIncarnation;
  ingest.shm = options_.shm;
  ingest_ = *Ingest::Open(context_, ingest, [this](const std::string&, const Spaces&) {
    OfferedModel offered;
    offered.channel = channel_;
    offered.segment = segment_;
    offered.max_trajectory_s = 60;
    return Result<OfferedModel>(offered);
  });
  loop_ = std::make_unique<Loop>("bench-learner", [this] { Round(); });
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
