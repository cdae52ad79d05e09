#include "server/session/credits.h"

#include <algorithm>
#include <utility>

namespace murmurate::wire {
namespace {

constexpr int kLeastShares = 8;  ///< the byte budget is divided by no less

}  // namespace

std::uint32_t Credits::AddModel(SessionModel model) {
  pools_.emplace_back(std::move(model));
  return static_cast<std::uint32_t>(pools_.size() - 1);
}

void Credits::SetBatch(std::uint32_t model, const SessionBatch& batch, Senders& senders) {
  CreditPool& changed = pool(model);
  for (auto& [id, sender] : senders) {
    const auto share = sender.shares.find(model);
    if (share != sender.shares.end()) changed.Forget(&share->second);
  }
  changed.SetBatch(batch);
  for (auto& [id, sender] : senders)
    if (!sender.gone() && sender.ShareOfModel(model) != nullptr) SetModels(sender);
}

std::size_t Credits::ReserveFor(const std::vector<std::uint32_t>& models) const {
  std::size_t bytes = 0;
  for (const std::uint32_t model : models) bytes = std::max(bytes, pool(model).model.block_bytes);
  return bytes;
}

bool Credits::HasRoomFor(const std::vector<std::uint32_t>& models, std::size_t own_bytes) const {
  return reserves_ - own_bytes + ReserveFor(models) <= budget_bytes_;
}

void Credits::SetModels(Sender& sender) {
  sender.wanted_bytes = 0;
  for (const std::uint32_t number : sender.models) {
    const SessionModel& model = pool(number).model;
    sender.wanted_bytes += static_cast<std::size_t>(model.outstanding_limit) * model.block_bytes;
  }
  Touch(sender);
  reserves_ -= sender.reserve_bytes;
  sender.reserve_bytes = ReserveFor(sender.models);
  reserves_ += sender.reserve_bytes;
}

void Credits::Leave(Sender& sender) {
  windows_ -= sender.window();
  reserves_ -= sender.reserve_bytes;
  --present_;
  sender.reserve_bytes = 0;
  sender.bytes_granted = sender.bytes_received = sender.bytes_returned = 0;
}

void Credits::FitBytes(Sender& sender) {
  const std::uint64_t spare = budget_bytes_ - std::min(budget_bytes_, reserves_);
  const std::uint64_t extra = spare / static_cast<std::uint64_t>(std::max(present_, kLeastShares));
  const std::uint64_t reserve = sender.reserve_bytes;
  const std::uint64_t more =
      sender.wanted_bytes - std::min(sender.wanted_bytes, sender.reserve_bytes);
  const std::uint64_t room = budget_bytes_ - std::min(budget_bytes_, windows_);
  const std::uint64_t target = std::min(reserve + std::min(more, extra), sender.window() + room);
  const std::uint64_t window = std::max({sender.window(), target, reserve});
  if (window == sender.window()) return;
  windows_ += window - sender.window();
  sender.bytes_granted += window - sender.window();
  MarkUnsent(sender);
}

void Credits::Touch(Sender& sender) {
  for (auto& [model, share] : sender.shares) pool(model).Touch(sender, &share);
}

void Credits::Touch(const Sender& sender, Share& share) {
  pool(share.model).Touch(sender, &share);
  pool(share.model).dirty = true;
}

void Credits::TouchPlayed(Sender& sender) {
  Touch(sender);
  for (const std::uint32_t model : sender.models) pool(model).dirty = true;
}

void Credits::Mute(Sender& sender) {
  if (muted_.insert(sender.id).second) Touch(sender);
}

void Credits::CheckMutes(Senders& senders, const Replies& replies, std::int64_t now_ns) {
  std::erase_if(muted_, [&](std::uint64_t id) {
    const auto found = senders.find(id);
    if (found == senders.end()) return true;
    if (replies.Muted(found->second.peer, now_ns)) return false;
    Touch(found->second);
    return true;
  });
}

void Credits::Return(Sender& sender, Share* share, std::uint64_t sequence, std::size_t bytes,
                     bool steps) {
  sender.bytes_returned += bytes;
  windows_ -= bytes;
  sender.acknowledged = std::max(sender.acknowledged, sequence);
  if (share != nullptr && steps) {
    ++share->returned;
    Touch(sender, *share);
  }
  FitBytes(sender);
  MarkUnsent(sender);
}

void Credits::Grant(Senders& senders, const Replies& replies, std::int64_t now_ns) {
  if (stopped_) return;
  CheckMutes(senders, replies, now_ns);
  for (std::uint32_t model = 0; model < pools_.size(); ++model) {
    CreditPool& pool = pools_[model];
    if (!pool.dirty) continue;
    pool.Refile(
        [&senders, model](std::uint64_t id) -> CreditHolder {
          const auto sender = senders.find(id);
          if (sender == senders.end()) return {};
          const auto share = sender->second.shares.find(model);
          if (share == sender->second.shares.end()) return {};
          return {&sender->second, &share->second};
        },
        [&replies, now_ns](const CreditHolder& holder) {
          return holder.sender->live() && !holder.share->slots().empty() && !holder.share->idle &&
                 !replies.Muted(holder.sender->peer, now_ns);
        });
    const std::uint64_t limit = pool.model.lockstep_steps;
    const bool spent = pool.lockstep() && limit != UINT64_MAX && pool.learned_steps >= limit;
    for (Sender* sender : pool.Grant(spent, now_ns)) MarkUnsent(*sender);
  }
}

void Credits::MarkUnsent(Sender& sender) {
  sender.totals_sent = false;
  if (std::exchange(sender.queued, true)) return;
  unsent_.push_back(sender.id);
}

void Credits::SendUnsent(Senders& senders, Replies& replies) {
  for (const std::uint64_t id : unsent_) {
    const auto found = senders.find(id);
    if (found == senders.end()) continue;
    Sender& sender = found->second;
    sender.queued = false;
    if (sender.totals_sent || sender.gone() || sender.cut_off()) continue;
    sender.totals_sent = true;
    replies.Send(sender.peer, Accepted{sender.acknowledged, sender.bytes_granted, Totals(sender)},
                 sender.acknowledged);
  }
  unsent_.clear();
}

std::vector<ModelCredit> Credits::Totals(const Sender& sender) const {
  std::vector<ModelCredit> totals;
  for (const std::uint32_t model : sender.models) {
    const Share& share = sender.shares.at(model);
    totals.push_back({share.granted * pool(model).model.welcome.trajectory_length, share.at_version,
                      pool(model).version});
  }
  return totals;
}

}  // namespace murmurate::wire
