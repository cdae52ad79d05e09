#include "server/session/session_table.h"

#include <algorithm>
#include <utility>

namespace murmurate::wire {
namespace {

constexpr std::size_t kMostGone = 256, kMostForgottenNames = 256;
constexpr std::int64_t kLastWordsNs = 1'000'000'000;  ///< of one whose connection is gone
constexpr std::uint64_t kMostIndices = 1u << 24;

}  // namespace

void SessionTable::AddModel() {
  old_steps_.push_back(0);
  old_dropped_.push_back(0);
}

Sender* SessionTable::Find(std::uint64_t id) {
  const auto found = senders_.find(id);
  return found == senders_.end() ? nullptr : &found->second;
}

Sender* SessionTable::AtPeer(const std::string& peer) {
  const auto known = peers_.find(peer);
  return known == peers_.end() ? nullptr : &senders_.at(known->second);
}

Sender& SessionTable::Enter(const std::string& peer, std::uint64_t id, const Hello& hello) {
  Sender& sender = senders_[id];
  sender.name = hello.actor_name;
  sender.pace = hello.pace;
  sender.hello_number = hello.number;
  sender.host_identity = hello.host_identity;
  if (!sender.gone()) return sender;
  sender.id = id;
  sender.peer = peer;
  sender.health = Sender::Health::kLive;
  sender.session = ++sessions_;
  const bool first = !std::exchange(sender.heard_here, true);
  if (resumed_ && first && hello.sequence > sender.kept_sequence)
    lost_trajectories_ += hello.sequence - sender.kept_sequence;
  sender.last_sequence = sender.acknowledged = std::max(hello.sequence, sender.kept_sequence);
  sender.claimed_ns = -1;
  peers_[peer] = id;
  credits_.Enter();
  return sender;
}

void SessionTable::ReplaceSlots(Share& share, std::vector<AgentSlot> slots) {
  slots_ -= share.slots().size();
  share.SetSlots(std::move(slots));
  slots_ += share.slots().size();
}

/// Agents that are still there keep their slots; those of the others are free again.
void SessionTable::SetSlots(Share& share, const std::vector<std::uint32_t>& numbers) {
  std::vector<AgentSlot> slots, gone = share.slots();
  for (const std::uint32_t number : numbers) {
    const AgentSlot* kept = share.Find(number);
    slots.push_back(kept == nullptr ? AgentSlot{.number = number, .index = kNoIndex} : *kept);
    if (kept != nullptr)
      gone[static_cast<std::size_t>(kept - share.slots().data())].index = kNoIndex;
  }
  std::erase_if(gone, [](const AgentSlot& slot) { return slot.index == kNoIndex; });
  ReplaceSlots(share, std::move(gone));
  FreeSlots(share);
  for (AgentSlot& slot : slots) {
    if (slot.index != kNoIndex) continue;
    const auto former = share.former.find(slot.number);
    slot.index =
        former == share.former.end() ? indices_.Acquire() : indices_.Reacquire(former->second);
  }
  ReplaceSlots(share, std::move(slots));
}

void SessionTable::FreeSlots(Share& share) {
  for (const AgentSlot& slot : share.slots()) {
    share.left_steps += slot.last_steps - slot.first_steps;
    indices_.Free(slot.index);
  }
  ReplaceSlots(share, {});
  credits_.pool(share.model).dirty = true;
}

void SessionTable::SetModels(Sender& sender, const Hello& hello,
                             const std::vector<std::uint32_t>& models) {
  for (auto& [model, share] : sender.shares) {
    if (std::find(models.begin(), models.end(), model) == models.end()) FreeSlots(share);
  }
  sender.models = models;
  for (std::size_t i = 0; i < models.size(); ++i) {
    Share& share = sender.shares[models[i]];
    share.model = models[i];
    SetSlots(share, hello.models[i].agents);
  }
  credits_.SetModels(sender);
}

bool SessionTable::HasRoomFor(const Sender* sender, const Hello& hello) const {
  std::size_t agents = slots_;
  if (sender != nullptr) agents -= static_cast<std::size_t>(sender->agents());
  for (const HelloModel& model : hello.models) agents += model.agents.size();
  return agents <= limits_.max_agents;
}

void SessionTable::Hear(Sender& sender, std::int64_t now_ns) {
  sender.last_heard_ns = now_ns;
  if (sender.first_heard_ns < 0) sender.first_heard_ns = now_ns;
  if (sender.live() || sender.cut_off()) return;
  sender.health = Sender::Health::kLive;
  credits_.TouchPlayed(sender);
}

void SessionTable::Progress(const Sender& sender, Share& share, std::int64_t now_ns) {
  share.progress_ns = now_ns;
  if (std::exchange(share.idle, false)) credits_.Touch(sender, share);
}

void SessionTable::Stall(Sender& sender) {
  if (!sender.live()) return;
  sender.health = Sender::Health::kStalled;
  credits_.TouchPlayed(sender);
}

void SessionTable::Leave(Sender& sender) {
  if (sender.gone()) return;
  sender.health = Sender::Health::kGone;
  sender.cut_off_ns = -1;
  peers_.erase(sender.peer);
  credits_.Leave(sender);
  for (auto& [model, share] : sender.shares) {
    former_agents_ -= share.former.size();
    share.former.clear();
    if (former_agents_ + share.slots().size() <= limits_.max_agents) {
      for (const AgentSlot& slot : share.slots()) share.former[slot.number] = slot.index;
    }
    former_agents_ += share.former.size();
    FreeSlots(share);
    share.granted = share.received = share.returned = share.at_version = 0;
    share.idle = false;
  }
  credits_.Touch(sender);
}

void SessionTable::Tick(std::int64_t now_ns) {
  std::size_t gone = 0;
  for (auto& [id, sender] : senders_) {
    if (sender.gone()) {
      ++gone;
      continue;
    }
    const std::int64_t silent = now_ns - sender.last_heard_ns;
    const bool said_all = sender.cut_off() && now_ns - sender.cut_off_ns > kLastWordsNs;
    if (silent > (said_all ? kLastWordsNs : limits_.gone_after_ns)) {
      Leave(sender);
      continue;
    }
    if (silent > limits_.stalled_after_ns) Stall(sender);
    for (const std::uint32_t model : sender.models) {
      Share& share = sender.shares.at(model);
      if (share.idle || share.held() == 0 || sender.pace == Pace::kLockstep) continue;
      share.idle = now_ns - share.progress_ns > limits_.idle_after_ns;
      if (share.idle) credits_.Touch(sender, share);
    }
  }
  if (gone > kMostGone) ForgetOldest(gone - kMostGone);
}

/// Those that have been gone longest; what they played stays counted.
void SessionTable::ForgetOldest(std::size_t count) {
  std::vector<std::pair<std::int64_t, std::uint64_t>> gone;
  for (const auto& [id, sender] : senders_) {
    if (sender.gone()) gone.emplace_back(sender.last_heard_ns, id);
  }
  std::sort(gone.begin(), gone.end());
  for (std::size_t i = 0; i < std::min(count, gone.size()); ++i) {
    Sender& sender = senders_.at(gone[i].second);
    for (auto& [model, share] : sender.shares) {
      credits_.pool(model).Forget(&share);
      old_steps_[model] += sender.Steps(share);
      old_dropped_[model] += share.pinged_dropped;
      former_agents_ -= share.former.size();
    }
    if (sender.heard_here) CountForgotten(sender);
    senders_.erase(gone[i].second);
  }
}

void SessionTable::CountForgotten(const Sender& sender) {
  const bool known = forgotten_.contains(sender.name);
  const std::string name = known || forgotten_.size() < kMostForgottenNames ? sender.name : "";
  ServerSession::ActorReport& sum = forgotten_[name];
  sum.name = name;
  sum.health = Sender::Health::kGone;
  sum.silent_ns = sum.here_ns = INT64_MAX;
  sender.AddTo(&sum);
}

bool SessionTable::Know(std::uint32_t model, const ServerSession::Position& position,
                        std::span<const std::uint64_t> agents) {
  Sender& sender = senders_[position.sender];
  sender.id = position.sender;
  sender.kept_sequence = std::max(sender.kept_sequence, position.sequence);
  Share& share = sender.shares[model];
  share.model = model;
  share.given_trajectories = position.trajectories;
  share.given_steps = position.steps;
  share.committed = {0, position.sequence, position.trajectories, position.steps};
  for (std::size_t i = 0; i < agents.size(); i += 2) {
    if (agents[i + 1] >= kMostIndices) return false;
    const auto index = static_cast<std::uint32_t>(agents[i + 1]);
    former_agents_ += share.former.emplace(static_cast<std::uint32_t>(agents[i]), index).second;
    indices_.Know(index);
  }
  return true;
}

void SessionTable::SetOldSteps(std::uint32_t model, std::uint64_t steps, std::uint64_t dropped) {
  old_steps_[model] = steps;
  old_dropped_[model] = dropped;
}

std::uint64_t SessionTable::EnvironmentSteps(std::uint32_t model) const {
  std::uint64_t steps = old_steps_[model];
  for (const auto& [id, sender] : senders_) {
    const auto share = sender.shares.find(model);
    if (share != sender.shares.end()) steps += sender.Steps(share->second);
  }
  return steps;
}

std::uint64_t SessionTable::DroppedSteps(std::uint32_t model) const {
  std::uint64_t steps = old_dropped_[model];
  for (const auto& [id, sender] : senders_) {
    const auto share = sender.shares.find(model);
    if (share != sender.shares.end()) steps += share->second.pinged_dropped;
  }
  return steps;
}

}  // namespace murmurate::wire
