#include "server/stream/batch_feed.h"

#include <utility>

#include "shared/core/check.h"
#include "shared/core/clock.h"

namespace murmurate {
namespace {

constexpr int kMostGiven = 2;
constexpr int kLongestWaitMs = 200;

}  // namespace

BatchFeed::BatchFeed(const StreamSettings& settings, std::shared_ptr<ExperienceChannel> channel)
    : settings_(settings), channel_(std::move(channel)) {}

void BatchFeed::OpenReplay() {
  if (settings_.replay > 0)
    replay_ = std::make_unique<ReplayWindow>(settings_.layout(channel_->spec), settings_.replay,
                                             settings_.seed);
}

void BatchFeed::Feed(Forecaster* forecaster, std::int64_t now_ns) {
  wait_ms_ = kLongestWaitMs;
  if (!forecaster->has_pairs()) {
    waiting_since_ns_ = 0;
    return;
  }
  if (waiting_since_ns_ == 0) waiting_since_ns_ = now_ns;
  const std::int64_t due_ns =
      waiting_since_ns_ + settings_.max_delay_ms * kNanosecondsPerMillisecond;
  if (given_ >= kMostGiven) return;  // OnTrained wakes
  if (now_ns < due_ns) {
    wait_ms_ = static_cast<int>((due_ns - now_ns) / kNanosecondsPerMillisecond) + 1;
    return;
  }
  auto batch = channel_->empty.TryPop();
  if (!batch) return;  // as one comes back, a batch is done, and OnTrained wakes
  (*batch)->Clear();
  const bool filled = forecaster->Fill(batch->get());
  channel_->received_trajectories += (*batch)->trajectories.size();
  if (filled && replay_) replay_->Mix(batch->get());
  if (filled) ++given_;
  (void)(filled ? channel_->ready : channel_->empty).TryPush(*std::move(batch));
  if (!forecaster->has_pairs()) waiting_since_ns_ = 0;
}

void BatchFeed::OnTrained(Forecaster* forecaster) {
  channel_->environment_steps += forecaster->OnTrained();
  --given_;
}

void BatchFeed::Save(const StateWriter& writer) const {
  if (replay_) replay_->Save(writer.Section("replay"));
}

Status BatchFeed::Load(const Forecaster& forecaster, const StateReader& reader) {
  if (replay_) MURMURATE_RETURN_IF_ERROR(replay_->Load(reader.Section("replay")));
  channel_->environment_steps.store(forecaster.totals().learned);
  return {};
}

}  // namespace murmurate
