#include "client/stream_session.h"

#include <algorithm>

namespace murmurate {
namespace {

constexpr std::int64_t kFirstHelloNs = 2 * kNanosecondsPerMillisecond;

}  // namespace

StreamSession::Due StreamSession::OnTick(std::int64_t now_ns) {
  if (!live_) {
    if (now_ns < next_hello_ns_) return Due::kNothing;
    hello_wait_ns_ = refused_
                         ? kRefusedNs
                         : std::clamp(2 * hello_wait_ns_, kFirstHelloNs, kNanosecondsPerSecond);
    next_hello_ns_ = now_ns + hello_wait_ns_;
    ++hello_number_;
    return Due::kHello;
  }
  if (asked_ns_ <= heard_ns_) asked_ns_ = 0;
  if (asked_ns_ != 0 && now_ns - asked_ns_ >= kSilenceNs) return Due::kLost;
  if (now_ns - std::max(heard_ns_, pinged_ns_) < kPingNs) return Due::kNothing;
  pinged_ns_ = now_ns;
  if (asked_ns_ == 0) asked_ns_ = now_ns;
  return Due::kPing;
}

std::int64_t StreamSession::NextTickNs(std::int64_t now_ns) const {
  return live_ ? now_ns + kPingNs / 5 : next_hello_ns_;
}

bool StreamSession::OnOk(const wire::StreamOk& ok) {
  if (live_ || ok.number < first_hello_) return false;
  stream_ = {ok.stream, ok.fields, ok.targets, ok.horizons, ok.quantiles};
  reads_doubles_ = ok.doubles;
  refused_ = false;
  committed_.clear();
  welcomed_ = true;
  return true;
}

void StreamSession::OnCommitted(const wire::SamplesCommitted& committed) {
  if (!live_ && !welcomed_) return;
  for (const auto& [device, sequence] : committed.devices)
    committed_.insert_or_assign(device, sequence);
  if (live_ || !committed.complete) return;
  live_ = true;
  welcomed_ = false;
  hello_wait_ns_ = 0;
  asked_ns_ = 0;
  reason_.clear();
  ++sessions_;
}

bool StreamSession::OnRefused(const wire::Error& error, std::int64_t now_ns) {
  if (live_) return false;
  const bool news = reason_ != error.sentence;
  refused_ = error.refusal != wire::Refusal::kBusy;  // which passes
  reason_ = error.sentence;
  next_hello_ns_ = now_ns + kRefusedNs;
  return news;
}

void StreamSession::OnLost(const std::string& why) {
  reason_ = why;
  live_ = welcomed_ = refused_ = false;
  first_hello_ = hello_number_ + 1;
  hello_wait_ns_ = 0;
  next_hello_ns_ = 0;
}

std::optional<std::uint64_t> StreamSession::Committed(std::string_view device) const {
  const auto found = committed_.find(device);
  if (found == committed_.end()) return std::nullopt;
  return found->second;
}

}  // namespace murmurate
