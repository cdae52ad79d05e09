#include "shared/wire/hello_retry.h"

#include <algorithm>
#include <utility>

#include "shared/core/clock.h"

namespace murmurate::wire {
namespace {

constexpr std::int64_t kFirstRetryNs = 2 * kNanosecondsPerMillisecond;
constexpr std::int64_t kLongestRetryNs = kNanosecondsPerSecond;
constexpr std::int64_t kRefusedRetryNs = 5 * kNanosecondsPerSecond;

}  // namespace

void HelloRetry::Introduce(Hello hello) {
  hello.number = hello_ ? hello_->number + 1 : 1;
  hello_ = std::move(hello);
}

const Hello& HelloRetry::Ask(std::uint64_t sequence, std::int64_t now_ns) {
  backoff_ns_ = kFirstRetryNs;
  return Send(sequence, now_ns);
}

const Hello& HelloRetry::Repeat(std::uint64_t sequence, std::int64_t now_ns, bool refused) {
  if (refused) backoff_ns_ = 2 * kRefusedRetryNs;
  return Send(sequence, now_ns);
}

const Hello& HelloRetry::Send(std::uint64_t sequence, std::int64_t now_ns) {
  hello_->sequence = sequence;
  open_ = true;
  // Between half of the back-off and all of it: many clients of a restarted learner spread out.
  next_ns_ =
      now_ns + backoff_ns_ / 2 +
      static_cast<std::int64_t>(random_.UniformDouble() * static_cast<double>(backoff_ns_ / 2));
  backoff_ns_ = std::min(2 * backoff_ns_, kLongestRetryNs);
  return *hello_;
}

bool HelloRetry::IsAnsweredBy(const HelloOk& ok) const {
  if (ok.number != 0 && ok.number != hello_->number) return false;
  return std::equal(ok.models.begin(), ok.models.end(), hello_->models.begin(),
                    hello_->models.end(), [](const HelloOkModel& a, const HelloModel& b) {
                      return a.name == b.name && a.agent_indices.size() == b.agents.size();
                    });
}

void HelloRetry::OnRefused(std::int64_t now_ns) {
  open_ = false;
  next_ns_ = now_ns + kRefusedRetryNs;
}

void HelloRetry::OnGoaway(std::int64_t now_ns) {
  open_ = false;
  backoff_ns_ = kLongestRetryNs;
  next_ns_ = now_ns + kLongestRetryNs;
}

void HelloRetry::OnLost(std::int64_t now_ns) {
  backoff_ns_ = kFirstRetryNs;
  next_ns_ = now_ns + kFirstRetryNs;
}

}  // namespace murmurate::wire
