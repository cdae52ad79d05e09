#include "server/learn/batch_watch.h"

namespace murmurate {

void BatchWatch::Begin(std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  begun_ns_ = reported_ns_ = now_ns;
}

void BatchWatch::End(std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  if (!begun_ns_) return;
  const double seconds = 1e-9 * static_cast<double>(now_ns - *begun_ns_);
  usual_s_ += (seconds - usual_s_) * (usual_s_ == 0.0 ? 1.0 : 0.125);
  begun_ns_.reset();
}

double BatchWatch::UnderWay(std::int64_t now_ns) const {
  const std::lock_guard lock(mutex_);
  return begun_ns_ ? 1e-9 * static_cast<double>(now_ns - *begun_ns_) : 0.0;
}

std::optional<BatchWatch::Late> BatchWatch::Look(std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  if (!begun_ns_) return std::nullopt;
  const double seconds = 1e-9 * static_cast<double>(now_ns - *begun_ns_);
  const double silent_s = 1e-9 * static_cast<double>(now_ns - reported_ns_);
  if (silent_s < kLateS || seconds <= kUsualTimes * usual_s_) return std::nullopt;
  reported_ns_ = now_ns;
  return Late{seconds, usual_s_};
}

}  // namespace murmurate
