// What a ServerSession lets its senders send: bytes of a budget that they share, steps of each
// model's pool (credit_pool.h).
#include <algorithm>

#include "server/session/session_book.h"

namespace murmurate::wire {
namespace {

constexpr int kLeastShares = 8;  ///< the byte budget is divided by no less

}  // namespace

/// Byte credit up to this sender's part of the budget, but never less than one trajectory.
void ServerSession::Book::FitBytes(Sender& sender) {
  const std::uint64_t budget = limits.ingest_budget_bytes;
  const std::uint64_t spare = budget - std::min(budget, reserves);
  const std::uint64_t extra = spare / static_cast<std::uint64_t>(std::max(present, kLeastShares));
  const std::uint64_t reserve = sender.reserve_bytes;
  const std::uint64_t more =
      sender.wanted_bytes - std::min(sender.wanted_bytes, sender.reserve_bytes);
  const std::uint64_t room = budget - std::min(budget, windows);
  const std::uint64_t target = std::min(reserve + std::min(more, extra), sender.window() + room);
  const std::uint64_t window = std::max({sender.window(), target, reserve});
  if (window == sender.window()) return;
  windows += window - sender.window();
  sender.bytes_granted += window - sender.window();
  Untell(sender);
}

/// Whether or how it plays has changed, or what it holds.
void ServerSession::Book::Touch(Sender& sender) {
  for (auto& [model, share] : sender.shares) pools[model].Touch(sender, &share);
}

/// Who was muted is given credit again when that is over.
void ServerSession::Book::CheckMutes(std::int64_t now) {
  std::erase_if(muted, [&](std::uint64_t id) {
    const auto found = senders.find(id);
    if (found == senders.end()) return true;
    if (rejects.Muted(found->second.peer, now)) return false;
    Touch(found->second);
    return true;
  });
}

void ServerSession::Book::GrantAll(std::int64_t now) {
  if (leaving || finishing) return;
  CheckMutes(now);
  for (std::uint32_t model = 0; model < pools.size(); ++model) {
    CreditPool& pool = pools[model];
    if (!pool.dirty) continue;
    pool.Refile(
        [this, model](std::uint64_t id) -> CreditHolder {
          const auto sender = senders.find(id);
          if (sender == senders.end()) return {};
          const auto share = sender->second.shares.find(model);
          if (share == sender->second.shares.end()) return {};
          return {&sender->second, &share->second};
        },
        [this, now](const CreditHolder& holder) {
          return holder.sender->live() && !holder.share->seats().empty() && !holder.share->idle &&
                 !rejects.Muted(holder.sender->peer, now);
        });
    const std::uint64_t limit = pool.model.lockstep_steps;
    const bool spent = pool.lockstep() && limit != UINT64_MAX && pool.learned_steps >= limit;
    for (Sender* sender : pool.Grant(spent, now)) Untell(*sender);
  }
}

}  // namespace murmurate::wire
