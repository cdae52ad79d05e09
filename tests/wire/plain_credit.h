// PlainCredit: the rules of credit_pool.h in their plainest form, which looks at every sender for
// every grant. Tests compare the order of CreditPool's grants with it.
#pragma once

#include <algorithm>
#include <span>
#include <tuple>
#include <vector>

#include "server/session/credit_order.h"

namespace murmurate::wire {

class PlainCredit {
 public:
  using Holders = std::span<const CreditHolder>;

  PlainCredit(int limit, int batch, bool current_only)
      : limit_(static_cast<std::uint64_t>(limit)),
        batch_(static_cast<std::uint64_t>(batch)),
        current_only_(current_only) {}

  void Delivered() { ++unreleased_; }
  void Released(std::uint64_t count) {
    unreleased_ -= std::min(unreleased_, count);
    closed_ = false;
  }
  void CloseRound() { closed_ = true; }

  void Grant(Holders holders, std::int64_t now_ns) {
    if (Agents(holders) == 0) return;
    const bool lockstep = std::ranges::any_of(
        holders, [](const CreditHolder& h) { return h.sender->pace == Pace::kLockstep; });
    if (lockstep || current_only_) {
      GrantRound(holders, now_ns);
    } else {
      GrantFreely(holders, now_ns);
    }
  }

  std::uint64_t version = 0;

 private:
  static std::uint64_t Agents(Holders holders) {
    std::uint64_t agents = 0;
    for (const CreditHolder& holder : holders) agents += holder.share->slots().size();
    return agents;
  }
  static bool Waits(const CreditHolder& holder) { return holder.sender->pace == Pace::kCredit; }
  static bool Before(const Share& a, const Share& b) {
    const std::uint64_t left = a.held() * b.slots().size(), right = b.held() * a.slots().size();
    return std::tuple(left, a.last_grant, a.slots().front().index) <
           std::tuple(right, b.last_grant, b.slots().front().index);
  }
  static bool Earlier(const Share& a, const Share& b) {
    return std::tuple(a.last_grant, a.slots().front().index) <
           std::tuple(b.last_grant, b.slots().front().index);
  }

  void Give(const CreditHolder& holder, std::uint64_t at_version, std::int64_t now_ns) {
    if (holder.share->held() == 0) holder.share->progress_ns = now_ns;
    ++holder.share->granted;
    holder.share->last_grant = ++grants_;
    holder.share->at_version = at_version;
  }

  void GrantFreely(Holders holders, std::int64_t now_ns) {
    const std::uint64_t agents = Agents(holders);
    const bool turns = agents > limit_;
    if (turns) {
      GrantInTurns(holders, now_ns);
    } else {
      GrantFairParts(holders, now_ns);
    }
    const bool short_of_credit = limit_ < batch_ + agents;
    if (unreleased_ >= batch_) return;
    for (const CreditHolder& holder : holders) {
      const bool begun = !turns && short_of_credit && holder.share->held() > 0;
      if (Waits(holder) && (begun || holder.sender->models.size() > 1)) Complete(holder, now_ns);
    }
  }

  void GrantFairParts(Holders holders, std::int64_t now_ns) {
    const std::uint64_t agents = Agents(holders);
    const std::uint64_t fair = (limit_ + agents - 1) / agents;
    std::uint64_t under_way = unreleased_;
    for (const CreditHolder& holder : holders)
      under_way += std::min(holder.share->held(), fair * holder.share->slots().size());
    for (; under_way < limit_; ++under_way) {
      const CreditHolder* best = nullptr;
      for (const CreditHolder& holder : holders) {
        const Share& share = *holder.share;
        if (share.held() >= fair * share.slots().size()) continue;
        if (best == nullptr || Before(share, *best->share)) best = &holder;
      }
      if (best == nullptr) return;
      Give(*best, 0, now_ns);
    }
  }

  void GrantInTurns(Holders holders, std::int64_t now_ns) {
    std::uint64_t under_way = unreleased_;
    for (const CreditHolder& holder : holders) {
      const Share& share = *holder.share;
      const std::uint64_t held = std::min<std::uint64_t>(share.held(), share.slots().size());
      under_way += !Waits(holder) ? held : held == share.slots().size() ? 1 : 0;
    }
    while (under_way < limit_) {
      const CreditHolder* best = nullptr;
      for (const CreditHolder& holder : holders) {
        const Share& share = *holder.share;
        if (share.held() >= share.slots().size()) continue;
        if (best == nullptr || Earlier(share, *best->share)) best = &holder;
      }
      if (best == nullptr) return;
      if (Waits(*best)) {
        Complete(*best, now_ns);
        ++under_way;
      }
      for (; under_way < limit_ && best->share->held() < best->share->slots().size(); ++under_way)
        Give(*best, 0, now_ns);
    }
  }

  void Complete(const CreditHolder& holder, std::int64_t now_ns) {
    while (holder.share->held() < holder.share->slots().size()) Give(holder, 0, now_ns);
  }

  void GrantRound(Holders holders, std::int64_t now_ns) {
    if (closed_) return;
    std::uint64_t under_way = unreleased_;
    std::vector<std::pair<std::uint32_t, const CreditHolder*>> turns;
    for (const CreditHolder& holder : holders) {
      under_way += holder.share->held();
      if (holder.share->held() > 0 && holder.share->at_version < version)
        holder.share->at_version = version;
      for (const AgentSlot& slot : holder.share->slots()) turns.emplace_back(slot.index, &holder);
    }
    std::sort(turns.begin(), turns.end());
    for (; under_way < batch_; ++under_way) {
      auto turn =
          std::lower_bound(turns.begin(), turns.end(), next_index_,
                           [](const auto& t, std::uint32_t index) { return t.first < index; });
      if (turn == turns.end()) turn = turns.begin();
      Give(*turn->second, version, now_ns);
      next_index_ = turn->first + 1;
    }
  }

  const std::uint64_t limit_, batch_;
  const bool current_only_;
  bool closed_ = false;
  std::uint64_t unreleased_ = 0, grants_ = 0;
  std::uint32_t next_index_ = 0;
};

}  // namespace murmurate::wire
