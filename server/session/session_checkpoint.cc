// Saves in a checkpoint what a session goes on from, and loads it.
#include <algorithm>
#include <array>
#include <map>

#include "server/session/session_state.h"
#include "shared/core/check.h"

namespace murmurate::wire {
namespace {

/// The words that a sender begins with; the number and the index of each of its agents follow.
constexpr std::size_t kSenderWords = 5;  // id, sequence, trajectories, steps, agents

Status Bent() {
  return InvalidData("the saved session.senders is no list of senders and their agents");
}

/// The agents of a share by their own numbers: those present, and former ones while there is room.
std::map<std::uint32_t, std::uint32_t> AgentsOf(const Share& share) {
  std::map<std::uint32_t, std::uint32_t> agents;
  for (const AgentSlot& slot : share.slots()) agents[slot.number] = slot.index;
  for (const auto& former : share.former) {
    if (agents.size() == kMaxAgents) break;
    agents.insert(former);
  }
  return agents;
}

/// Calls use(words) with what Save wrote of each sender; until one says that it is bent.
template <typename Use>
Status ForEachSender(const StateReader& reader, Use use) {
  const auto saved = reader.AllWords("senders");
  if (!saved.ok()) return saved.status();
  for (std::span<const std::uint64_t> left = *saved; !left.empty();) {
    if (left.size() < kSenderWords || left[4] > kMaxAgents) return Bent();
    const std::size_t count = kSenderWords + 2 * left[4];
    if (left.size() < count) return Bent();
    MURMURATE_RETURN_IF_ERROR(use(left.first(count)));
    left = left.subspan(count);
  }
  return {};
}

ServerSession::Position PositionOf(std::span<const std::uint64_t> words) {
  return {words[0], words[1], words[2], words[3]};
}

}  // namespace

Result<std::vector<ServerSession::Position>> ServerSession::ReadPositions(
    const StateReader& reader) {
  std::vector<Position> positions;
  const Status status = ForEachSender(reader, [&](std::span<const std::uint64_t> words) {
    positions.push_back(PositionOf(words));
    return Status();
  });
  if (!status.ok()) return status;
  return positions;
}

bool ServerSession::AtBorder(std::uint32_t model) const {
  if (state_->credits.pool(model).unreleased() > 0) return false;
  return std::ranges::none_of(state_->table.senders(), [model](const auto& entry) {
    const auto& [id, sender] = entry;
    const auto share = sender.shares.find(model);
    return sender.live() && share != sender.shares.end() && share->second.held() > 0;
  });
}

void ServerSession::CopyPositions(std::uint32_t model, std::vector<Position>* positions) const {
  positions->clear();
  for (const auto& [id, sender] : state_->table.senders()) {
    const auto share = sender.shares.find(model);
    if (share == sender.shares.end()) continue;
    const std::uint64_t sequence =
        sender.heard_here ? sender.acknowledged_through() : sender.kept_sequence;
    positions->push_back(
        {id, sequence, share->second.given_trajectories, share->second.given_steps});
  }
}

void ServerSession::Save(std::uint32_t model, std::span<const Position> positions,
                         const StateWriter& writer) const {
  writer.Words("steps", {{EnvironmentSteps(model), DroppedSteps(model)}});
  const CreditPool::Turn turn = state_->credits.pool(model).turn();
  writer.Words("turn", {{turn.grants, turn.next_index}});
  std::vector<std::uint64_t> words;
  for (const Position& position : positions) {
    const Sender* sender = state_->table.Find(position.sender);
    std::map<std::uint32_t, std::uint32_t> agents;
    if (sender != nullptr && sender->shares.contains(model))
      agents = AgentsOf(sender->shares.at(model));
    words.insert(words.end(), {position.sender, position.sequence, position.trajectories,
                               position.steps, agents.size()});
    for (const auto& [number, index] : agents) words.insert(words.end(), {number, index});
  }
  writer.Words("senders", words);
}

Status ServerSession::Load(std::uint32_t model, const StateReader& reader) {
  std::array<std::uint64_t, 2> steps{}, turn{};
  MURMURATE_RETURN_IF_ERROR(reader.Words("steps", steps));
  MURMURATE_RETURN_IF_ERROR(reader.Words("turn", turn));
  MURMURATE_RETURN_IF_ERROR(ForEachSender(reader, [&](std::span<const std::uint64_t> words) {
    const auto agents = words.subspan(kSenderWords);
    return state_->table.Know(model, PositionOf(words), agents) ? Status() : Bent();
  }));
  state_->table.SetOldSteps(model, steps[0], steps[1]);
  state_->credits.pool(model).GoOnFrom({turn[0], static_cast<std::uint32_t>(turn[1])});
  return {};
}

void ServerSession::Commit(std::uint32_t model, std::span<const Position> positions) {
  for (const Position& position : positions) {
    Sender* sender = state_->table.Find(position.sender);
    if (sender == nullptr || !sender->shares.contains(model)) continue;
    sender->shares.at(model).committed = {0, position.sequence, position.trajectories,
                                          position.steps};
    state_->SendCommitted(*sender, model);
  }
}

}  // namespace murmurate::wire
