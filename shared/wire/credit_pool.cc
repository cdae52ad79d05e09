#include "shared/wire/credit_pool.h"

#include <algorithm>
#include <tuple>
#include <vector>

namespace murmurate::wire {
namespace {

std::uint64_t Agents(std::span<const CreditPool::Holder> holders) {
  std::uint64_t agents = 0;
  for (const CreditPool::Holder& holder : holders) agents += holder.share->seats().size();
  return agents;
}

/// Less held per agent first; of equals the one that has waited longest, then the lowest index.
bool Before(const Share& a, const Share& b) {
  const std::uint64_t left = a.held() * b.seats().size(), right = b.held() * a.seats().size();
  return std::tuple(left, a.last_grant, a.seats().front().index) <
         std::tuple(right, b.last_grant, b.seats().front().index);
}

bool Earlier(const Share& a, const Share& b) {
  return std::tuple(a.last_grant, a.seats().front().index) <
         std::tuple(b.last_grant, b.seats().front().index);
}

bool Waits(const CreditPool::Holder& holder) { return holder.sender->pace == Pace::kCredit; }

}  // namespace

void CreditPool::Released(int count) {
  const auto released = static_cast<std::uint64_t>(std::max(count, 0));
  unreleased_ -= std::min(unreleased_, released);
  closed_ = false;
  dirty = true;
}

void CreditPool::Give(const Holder& holder, std::uint64_t at_version, std::int64_t now_ns) {
  if (holder.share->held() == 0) holder.share->progress_ns = now_ns;
  ++holder.share->granted;
  holder.share->last_grant = ++grants_;
  holder.share->at_version = at_version;
  holder.sender->told = false;
}

void CreditPool::Grant(std::span<const Holder> holders, bool spent, std::int64_t now_ns) {
  dirty = false;
  if (Agents(holders) == 0) return;
  const bool lockstep = std::any_of(holders.begin(), holders.end(), [](const Holder& h) {
    return h.sender->pace == Pace::kLockstep;
  });
  if (lockstep || model.current_only) {
    if (!lockstep || !spent) GrantRound(holders, now_ns);
  } else {
    GrantFreely(holders, now_ns);
  }
}

void CreditPool::GrantFreely(std::span<const Holder> holders, std::int64_t now_ns) {
  const std::uint64_t agents = Agents(holders);
  const auto limit = static_cast<std::uint64_t>(model.outstanding_limit);
  const auto batch = static_cast<std::uint64_t>(model.batch_trajectories);
  const bool turns = agents > limit;
  if (turns) {
    GrantInTurns(holders, now_ns);
  } else {
    GrantFairParts(holders, now_ns);
  }
  // With less than a batch delivered and this much under way, somebody has one for each agent.
  const bool short_of_credit = limit < batch + agents;
  if (unreleased_ >= batch) return;
  for (const Holder& holder : holders) {
    const bool begun = !turns && short_of_credit && holder.share->held() > 0;
    if (Waits(holder) && (begun || holder.sender->models.size() > 1)) Complete(holder, now_ns);
  }
}

void CreditPool::GrantFairParts(std::span<const Holder> holders, std::int64_t now_ns) {
  const std::uint64_t agents = Agents(holders);
  const auto limit = static_cast<std::uint64_t>(model.outstanding_limit);
  const std::uint64_t fair = (limit + agents - 1) / agents;
  std::uint64_t under_way = unreleased_;
  for (const Holder& holder : holders) {
    under_way += std::min(holder.share->held(), fair * holder.share->seats().size());
  }
  for (; under_way < limit; ++under_way) {
    const Holder* best = nullptr;
    for (const Holder& holder : holders) {
      const Share& share = *holder.share;
      if (share.seats().empty() || share.held() >= fair * share.seats().size()) continue;
      if (best == nullptr || Before(share, *best->share)) best = &holder;
    }
    if (best == nullptr) return;
    Give(*best, 0, now_ns);
  }
}

/// More agents than the limit: whoever has waited longest is next, for all of its agents.
void CreditPool::GrantInTurns(std::span<const Holder> holders, std::int64_t now_ns) {
  const auto limit = static_cast<std::uint64_t>(model.outstanding_limit);
  std::uint64_t under_way = unreleased_;
  for (const Holder& holder : holders) {
    const Share& share = *holder.share;
    const std::uint64_t held = std::min<std::uint64_t>(share.held(), share.seats().size());
    under_way += !Waits(holder) ? held : held == share.seats().size() ? 1 : 0;
  }
  while (under_way < limit) {
    const Holder* best = nullptr;
    for (const Holder& holder : holders) {
      const Share& share = *holder.share;
      if (share.held() >= share.seats().size()) continue;
      if (best == nullptr || Earlier(share, *best->share)) best = &holder;
    }
    if (best == nullptr) return;
    if (Waits(*best)) {
      Complete(*best, now_ns);
      ++under_way;
    }
    for (; under_way < limit && best->share->held() < best->share->seats().size(); ++under_way) {
      Give(*best, 0, now_ns);
    }
  }
}

/// One for each of its agents, so that none of them waits for another one's end.
void CreditPool::Complete(const Holder& holder, std::int64_t now_ns) {
  while (holder.share->held() < holder.share->seats().size()) Give(holder, 0, now_ns);
}

void CreditPool::GrantRound(std::span<const Holder> holders, std::int64_t now_ns) {
  if (closed_) return;
  if (grants_ == 0 && Agents(holders) < static_cast<std::uint64_t>(model.lockstep_agents)) return;
  std::uint64_t under_way = unreleased_;
  std::vector<std::pair<std::uint32_t, const Holder*>> turns;
  for (const Holder& holder : holders) {
    under_way += holder.share->held();
    if (holder.share->held() > 0 && holder.share->at_version < version) {
      holder.share->at_version = version;  // left over from a batch that was closed without it
      holder.sender->told = false;
    }
    for (const Seat& seat : holder.share->seats()) turns.emplace_back(seat.index, &holder);
  }
  std::sort(turns.begin(), turns.end());
  const auto batch = static_cast<std::uint64_t>(model.batch_trajectories);
  for (; under_way < batch; ++under_way) {
    auto turn =
        std::lower_bound(turns.begin(), turns.end(), next_index_,
                         [](const auto& t, std::uint32_t index) { return t.first < index; });
    if (turn == turns.end()) turn = turns.begin();
    Give(*turn->second, version, now_ns);
    next_index_ = turn->first + 1;
  }
}

}  // namespace murmurate::wire
