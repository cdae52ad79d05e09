#include "server/session/credit_order.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace murmurate::wire {

bool CreditOrder::Key::operator<(const Key& other) const {
  const std::uint64_t left = held * other.agents, right = other.held * agents;
  return std::tie(left, last_grant, index, sender) <
         std::tie(right, other.last_grant, other.index, other.sender);
}

/// The key by which a sender is next; in turns only how long it has waited counts.
CreditOrder::Key CreditOrder::KeyOf(const Filing& filing) const {
  return {turns_ ? 0 : filing.held, turns_ ? 1 : filing.agents, filing.last_grant, filing.index,
          filing.sender};
}

std::uint64_t CreditOrder::Counted(const Filing& filing) const {
  if (!turns_) return std::min(filing.held, fair_ * filing.agents);
  if (!filing.waits) return std::min(filing.held, filing.agents);
  return filing.held >= filing.agents ? 1 : 0;
}

void CreditOrder::List(const CreditHolder& holder, Queue::node_type node) {
  Filing& filing = holder.share->filing;
  filing.counted = Counted(filing);
  counted_ += filing.counted;
  const bool incomplete = filing.held < filing.agents;
  if (turns_ && !incomplete) return;
  if (node.empty()) {
    next_.emplace(KeyOf(filing), holder);
  } else {
    node.key() = KeyOf(filing);
    next_.insert(std::move(node));
  }
  if (!filing.waits || !incomplete) return;
  if (filing.several) incomplete_several_.emplace(filing.sender, holder);
  if (filing.held > 0) incomplete_begun_.emplace(filing.sender, holder);
}

CreditOrder::Queue::node_type CreditOrder::Unlist(const Filing& filing) {
  agents_ -= filing.agents;
  held_ -= filing.held;
  lockstep_ -= filing.lockstep;
  counted_ -= filing.counted;
  if (filing.waits) {
    incomplete_several_.erase(filing.sender);
    incomplete_begun_.erase(filing.sender);
  }
  return next_.extract(KeyOf(filing));
}

void CreditOrder::File(const CreditHolder& holder, bool plays) {
  if (!plays) return Remove(holder.share);
  const Share& share = *holder.share;
  Filing& filing = holder.share->filing;
  if (!filing.filed || filing.slot_changes != share.slot_changes()) slots_valid_ = false;
  Queue::node_type node;
  if (filing.filed) node = Unlist(filing);
  if (!filing.filed) all_.emplace(holder.sender->id, holder);
  filing = {.filed = true,
            .waits = holder.sender->pace == Pace::kCredit,
            .lockstep = holder.sender->pace == Pace::kLockstep,
            .several = holder.sender->models.size() > 1,
            .sender = holder.sender->id,
            .held = share.held(),
            .agents = share.slots().size(),
            .last_grant = share.last_grant,
            .index = share.slots().front().index,
            .slot_changes = share.slot_changes()};
  agents_ += filing.agents;
  held_ += filing.held;
  lockstep_ += filing.lockstep;
  List(holder, std::move(node));
}

void CreditOrder::Remove(Share* share) {
  if (!std::exchange(share->filing.filed, false)) return;
  slots_valid_ = false;
  (void)Unlist(share->filing);
  all_.erase(share->filing.sender);
}

void CreditOrder::Arrange() {
  const bool turns = agents_ > limit_;
  const std::uint64_t fair = turns || agents_ == 0 ? 0 : (limit_ + agents_ - 1) / agents_;
  if (turns == turns_ && fair == fair_) return;
  const bool refill = turns != turns_;
  turns_ = turns;
  fair_ = fair;
  counted_ = 0;
  if (refill) return Fill();
  for (const auto& [id, holder] : all_)
    counted_ += holder.share->filing.counted = Counted(holder.share->filing);
}

void CreditOrder::Fill() {
  next_.clear();
  incomplete_several_.clear();
  incomplete_begun_.clear();
  for (const auto& [id, holder] : all_) List(holder, {});
}

CreditHolder CreditOrder::Next() const {
  if (next_.empty()) return {};
  const CreditHolder& first = next_.begin()->second;
  const Filing& filing = first.share->filing;
  return turns_ || filing.held < fair_ * filing.agents ? first : CreditHolder{};
}

std::vector<CreditHolder> CreditOrder::Incomplete(bool begun) const {
  std::map<std::uint64_t, CreditHolder> found = incomplete_several_;
  if (begun) found.insert(incomplete_begun_.begin(), incomplete_begun_.end());
  std::vector<CreditHolder> holders;
  for (const auto& [id, holder] : found) holders.push_back(holder);
  return holders;
}

std::span<const std::pair<std::uint32_t, CreditHolder>> CreditOrder::Slots() {
  if (slots_valid_) return slots_;
  slots_.clear();
  for (const auto& [id, holder] : all_)
    for (const AgentSlot& slot : holder.share->slots()) slots_.emplace_back(slot.index, holder);
  std::ranges::sort(slots_, {}, [](const auto& slot) { return slot.first; });
  slots_valid_ = true;
  return slots_;
}

}  // namespace murmurate::wire
