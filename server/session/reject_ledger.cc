#include "server/session/reject_ledger.h"

#include "shared/core/clock.h"

namespace murmurate::wire {
namespace {

constexpr std::int64_t kMinuteNs = 60 * kNanosecondsPerSecond;

}  // namespace

bool RejectLedger::Note(const std::string& peer, std::int64_t now_ns) {
  if (pages_.size() >= kMostPages) pages_.clear();  // a storm of connections: begin again
  const auto [entry, fresh] = pages_.try_emplace(peer);
  Page& page = entry->second;
  if (fresh || now_ns - page.since_ns >= kMinuteNs) page = {now_ns, page.muted_until_ns, 0};
  if (++page.count <= per_minute_ || now_ns < page.muted_until_ns) return false;
  page.muted_until_ns = now_ns + kMinuteNs;
  return true;
}

bool RejectLedger::Muted(const std::string& peer, std::int64_t now_ns) const {
  const auto page = pages_.find(peer);
  return page != pages_.end() && now_ns < page->second.muted_until_ns;
}

void RejectLedger::ForgetOld(std::int64_t now_ns) {
  std::erase_if(pages_, [now_ns](const auto& entry) {
    return now_ns >= entry.second.muted_until_ns && now_ns - entry.second.since_ns >= kMinuteNs;
  });
}

}  // namespace murmurate::wire
