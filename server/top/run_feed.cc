#include "server/top/run_feed.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "server/metrics/number_text.h"
#include "shared/core/clock.h"

namespace murmurate {
namespace {

nlohmann::json Parsed(const std::string& answer) {
  nlohmann::json json = nlohmann::json::parse(answer, nullptr, false);
  return json.is_object() ? json : nlohmann::json::object();
}

TopSnapshot Make(const std::string& answer, const std::vector<std::string>& shards,
                 std::size_t model, ActorRates* rates, RunCurves* curves) {
  TopSnapshot snapshot{.status = Parsed(answer)};
  rates->AddTo(&snapshot.status, MonotonicNs());
  for (const std::string& shard : shards) snapshot.shards.push_back(Parsed(shard));
  const std::size_t models = ObjectsAt(snapshot.status, "models").size();
  snapshot.model = models > 0 ? model % models : 0;
  snapshot.curves = curves->Of(snapshot.status, snapshot.model);
  return snapshot;
}

}  // namespace

TopSnapshot SnapshotOfAnswer(const std::string& answer, const std::vector<std::string>& shards) {
  ActorRates rates;
  RunCurves curves;
  return Make(answer, shards, 0, &rates, &curves);
}

RunFeed::RunFeed(RunSource source, const std::string& first, std::function<void()> on_news)
    : source_(std::move(source)), on_news_(std::move(on_news)), asked_ns_(MonotonicNs()) {
  Take(first);
  loop_.emplace(
      "mmr-top", [this] { PollOnce(); },
      [this] {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        woken_.notify_all();
      });
}

RunFeed::News RunFeed::Latest() const {
  const std::lock_guard lock(mutex_);
  return news_;
}

void RunFeed::ShowNextModel() {
  const std::lock_guard lock(mutex_);
  ++model_;
  hurry_ = true;
  woken_.notify_all();
}

void RunFeed::PollOnce() {
  {
    std::unique_lock lock(mutex_);
    if (news_.gone)
      return (void)woken_.wait_for(lock, std::chrono::seconds(1), [&] { return stopping_; });
    const std::int64_t left = asked_ns_ + kIntervalNs - MonotonicNs();
    woken_.wait_for(lock, std::chrono::nanoseconds(std::max<std::int64_t>(0, left)),
                    [&] { return stopping_ || hurry_; });
    hurry_ = false;
    if (stopping_) return;
  }
  asked_ns_ = MonotonicNs();
  Ask();
  on_news_();
}

void RunFeed::Ask() {
  const Result<std::string> answer = source_.ask();
  answer.ok() ? Take(*answer) : TakeSilence();
}

void RunFeed::Take(const std::string& answer) {
  std::size_t model = 0;
  {
    const std::lock_guard lock(mutex_);
    model = model_;
  }
  auto snapshot = std::make_shared<const TopSnapshot>(
      Make(answer, source_.ask_shards(answer), model, &rates_, &curves_));
  answered_ns_ = MonotonicNs();
  const std::lock_guard lock(mutex_);
  news_.snapshot = std::move(snapshot);
}

/// The last answer stays, with how old it is.
void RunFeed::TakeSilence() {
  const bool gone = !source_.alive();
  const double seconds = static_cast<double>(MonotonicNs() - answered_ns_) * 1e-9;
  const std::lock_guard lock(mutex_);
  news_.gone = gone;
  auto snapshot = std::make_shared<TopSnapshot>(*news_.snapshot);
  snapshot->note = "it is alive, but has not answered for " + ShortDuration(seconds);
  if (!gone) news_.snapshot = std::move(snapshot);
}

}  // namespace murmurate
