#include "server/session/credit_pool.h"

#include <algorithm>
#include <utility>

namespace murmurate::wire {
namespace {

bool Waits(const CreditHolder& holder) { return holder.sender->pace == Pace::kCredit; }

}  // namespace

void CreditPool::Touch(const Sender& sender, Share* share) {
  if (std::exchange(share->touched, true)) return;
  touched_.push_back(sender.id);
}

void CreditPool::SetBatch(const SessionBatch& batch) {
  model.welcome.trajectory_length = static_cast<std::uint32_t>(batch.trajectory_length);
  model.batch_trajectories = batch.batch_trajectories;
  model.outstanding_limit = batch.outstanding_limit;
  order_ = CreditOrder(static_cast<std::uint64_t>(batch.outstanding_limit));
  refiled_.clear();
  all_named_ = false;
  dirty = true;
}

void CreditPool::Refile(const std::function<CreditHolder(std::uint64_t)>& find,
                        const std::function<bool(const CreditHolder&)>& plays) {
  for (const std::uint64_t id : touched_) {
    const CreditHolder holder = find(id);
    if (holder.share == nullptr) continue;
    holder.share->touched = false;
    order_.File(holder, plays(holder));
    if (holder.share->filing.filed) refiled_.push_back(holder);
  }
  touched_.clear();
  order_.Arrange();
}

void CreditPool::Released(int count) {
  const auto released = static_cast<std::uint64_t>(std::max(count, 0));
  unreleased_ -= std::min(unreleased_, released);
  closed_ = false;
  dirty = true;
}

void CreditPool::Give(const CreditHolder& holder, std::uint64_t at_version, std::int64_t now_ns) {
  if (holder.share->held() == 0) holder.share->progress_ns = now_ns;
  ++holder.share->granted;
  holder.share->last_grant = ++grants_;
  holder.share->at_version = at_version;
  holder.sender->totals_sent = false;
  given_.push_back(holder.sender);
  order_.File(holder, true);
}

std::vector<Sender*> CreditPool::Grant(bool spent, std::int64_t now_ns) {
  dirty = false;
  const bool named = std::exchange(all_named_, false) && named_version_ == version;
  if (order_.agents() > 0) {
    if (order_.lockstep() || model.current_only) {
      if (!order_.lockstep() || !spent) GrantRound(named, now_ns);
    } else {
      GrantFreely(now_ns);
    }
  }
  refiled_.clear();
  std::ranges::sort(given_, {}, &Sender::id);
  given_.erase(std::unique(given_.begin(), given_.end()), given_.end());
  return std::exchange(given_, {});
}

void CreditPool::GrantFreely(std::int64_t now_ns) {
  const std::uint64_t agents = order_.agents();
  const auto limit = static_cast<std::uint64_t>(model.outstanding_limit);
  const auto batch = static_cast<std::uint64_t>(model.batch_trajectories);
  if (order_.turns()) {
    GrantInTurns(now_ns);
  } else {
    GrantFairParts(now_ns);
  }
  // With less than a batch delivered and this much under way, some sender has one for each agent.
  const bool short_of_credit = limit < batch + agents;
  if (unreleased_ >= batch) return;
  for (const CreditHolder& holder : order_.Incomplete(!order_.turns() && short_of_credit))
    Complete(holder, now_ns);
}

void CreditPool::GrantFairParts(std::int64_t now_ns) {
  const auto limit = static_cast<std::uint64_t>(model.outstanding_limit);
  for (std::uint64_t under_way = unreleased_ + order_.counted(); under_way < limit; ++under_way) {
    const CreditHolder next = order_.Next();
    if (next.sender == nullptr) return;
    Give(next, 0, now_ns);
  }
}

/// Grants with more agents than the limit: the sender that has waited longest gets one for each.
void CreditPool::GrantInTurns(std::int64_t now_ns) {
  const auto limit = static_cast<std::uint64_t>(model.outstanding_limit);
  std::uint64_t under_way = unreleased_ + order_.counted();
  while (under_way < limit) {
    const CreditHolder next = order_.Next();
    if (next.sender == nullptr) return;
    if (Waits(next)) {
      Complete(next, now_ns);
      ++under_way;
    }
    for (; under_way < limit && next.share->held() < next.share->slots().size(); ++under_way)
      Give(next, 0, now_ns);
  }
}

/// Gives one for each of its agents, so that none of them waits for another one's end.
void CreditPool::Complete(const CreditHolder& holder, std::int64_t now_ns) {
  while (holder.share->held() < holder.share->slots().size()) Give(holder, 0, now_ns);
}

/// Credit left over from a batch that was closed without it is for the present version.
void CreditPool::NameVersion(const CreditHolder& holder) {
  if (holder.share->held() == 0 || holder.share->at_version >= version) return;
  holder.share->at_version = version;
  holder.sender->totals_sent = false;
  given_.push_back(holder.sender);
}

void CreditPool::GrantRound(bool named, std::int64_t now_ns) {
  if (closed_) return;
  if (grants_ == 0 && order_.agents() < static_cast<std::uint64_t>(model.lockstep_agents)) return;
  if (!named)
    for (const auto& [id, holder] : order_.all()) NameVersion(holder);
  for (const CreditHolder& holder : refiled_) NameVersion(holder);
  all_named_ = true;
  named_version_ = version;
  const auto batch = static_cast<std::uint64_t>(model.batch_trajectories);
  std::uint64_t under_way = unreleased_ + order_.held();
  if (under_way >= batch) return;
  const auto turns = order_.Slots();
  for (; under_way < batch; ++under_way) {
    auto turn = std::ranges::lower_bound(turns, next_index_, {},
                                         [](const auto& slot) { return slot.first; });
    if (turn == turns.end()) turn = turns.begin();
    next_index_ = turn->first + 1;
    Give(turn->second, version, now_ns);
  }
}

}  // namespace murmurate::wire
