#include "server/daemon/life_signs.h"

#include <algorithm>

#include "shared/core/clock.h"

namespace murmurate {
namespace {

constexpr std::int64_t kStatusNs = 2 * kNanosecondsPerSecond;
/// Signs in the time of a watchdog: more than the two that its manual asks for.
constexpr int kSigns = 4;

}  // namespace

LifeSigns::LifeSigns(const ServiceNotice* notice) : notice_(notice) {}

int LifeSigns::MostWaitMs(int usual_ms) const {
  const auto watchdog_ns = notice_->watchdog_ns();
  if (!watchdog_ns) return usual_ms;
  const std::int64_t share_ms = *watchdog_ns / kSigns / kNanosecondsPerMillisecond;
  return static_cast<int>(std::clamp<std::int64_t>(share_ms, 1, usual_ms));
}

void LifeSigns::OperateTurned(std::int64_t now_ns, double batch_s) {
  const auto watchdog_ns = notice_->watchdog_ns();
  if (!watchdog_ns || now_ns < next_sign_ns_) return;
  if (ingest_ns_ != 0 && now_ns - ingest_ns_ > *watchdog_ns) return;
  if (batch_s * 1e9 > static_cast<double>(*watchdog_ns)) return;
  notice_->Send("WATCHDOG=1");
  next_sign_ns_ = now_ns + *watchdog_ns / (2 * kSigns);
}

void LifeSigns::Say(std::int64_t now_ns, const std::string& status) {
  if (!notice_->connected() || now_ns < next_status_ns_ || status == status_) return;
  notice_->Send("STATUS=" + status);
  status_ = status;
  next_status_ns_ = now_ns + kStatusNs;
}

}  // namespace murmurate
