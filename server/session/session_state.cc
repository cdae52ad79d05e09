// What a session saves in a checkpoint and goes on from.
#include <algorithm>
#include <array>
#include <map>

#include "server/session/session_book.h"
#include "shared/core/check.h"

namespace murmurate::wire {
namespace {

/// Of a sender in the list of words: these, then the number and the index of each of its agents.
constexpr std::size_t kSenderWords = 5;  // id, sequence, trajectories, steps, agents

constexpr std::uint64_t kMostIndices = 1u << 24;

Status Bent() {
  return InvalidData("the saved session.senders is no list of senders and their agents");
}

/// The agents of a share by their own numbers: those present, and former ones while there is room.
std::map<std::uint32_t, std::uint32_t> AgentsOf(const Share& share) {
  std::map<std::uint32_t, std::uint32_t> agents;
  for (const Seat& seat : share.seats()) agents[seat.number] = seat.index;
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

}  // namespace

Result<std::vector<ServerSession::Mark>> ServerSession::ReadMarks(const StateReader& reader) {
  std::vector<Mark> marks;
  const Status status = ForEachSender(reader, [&](std::span<const std::uint64_t> words) {
    marks.push_back({words[0], words[1], words[2], words[3]});
    return Status();
  });
  if (!status.ok()) return status;
  return marks;
}

bool ServerSession::AtBorder(std::uint32_t model) const {
  if (book_->pools[model].unreleased() > 0) return false;
  return std::none_of(book_->senders.begin(), book_->senders.end(), [model](const auto& entry) {
    const auto& [id, sender] = entry;
    const auto share = sender.shares.find(model);
    return sender.live() && share != sender.shares.end() && share->second.held() > 0;
  });
}

void ServerSession::TakeMarks(std::uint32_t model, std::vector<Mark>* marks) const {
  marks->clear();
  for (const auto& [id, sender] : book_->senders) {
    const auto share = sender.shares.find(model);
    if (share == sender.shares.end()) continue;
    const std::uint64_t sequence =
        sender.heard_here ? sender.dealt_through() : sender.kept_sequence;
    marks->push_back({id, sequence, share->second.given_trajectories, share->second.given_steps});
  }
}

void ServerSession::Save(std::uint32_t model, std::span<const Mark> marks,
                         const StateWriter& writer) const {
  writer.Words("steps", {{EnvironmentSteps(model), DroppedSteps(model)}});
  const CreditPool::Turn turn = book_->pools[model].turn();
  writer.Words("turn", {{turn.grants, turn.next_index}});
  std::vector<std::uint64_t> words;
  for (const Mark& mark : marks) {
    const auto sender = book_->senders.find(mark.sender);
    std::map<std::uint32_t, std::uint32_t> agents;
    if (sender != book_->senders.end() && sender->second.shares.contains(model))
      agents = AgentsOf(sender->second.shares.at(model));
    words.insert(words.end(),
                 {mark.sender, mark.sequence, mark.trajectories, mark.steps, agents.size()});
    for (const auto& [number, index] : agents) words.insert(words.end(), {number, index});
  }
  writer.Words("senders", words);
}

Status ServerSession::Load(std::uint32_t model, const StateReader& reader) {
  std::array<std::uint64_t, 2> steps{}, turn{};
  MURMURATE_RETURN_IF_ERROR(reader.Words("steps", steps));
  MURMURATE_RETURN_IF_ERROR(reader.Words("turn", turn));
  MURMURATE_RETURN_IF_ERROR(ForEachSender(
      reader, [&](std::span<const std::uint64_t> words) { return book_->Know(model, words); }));
  book_->old_steps[model] = steps[0];
  book_->old_dropped[model] = steps[1];
  book_->pools[model].GoOnFrom({turn[0], static_cast<std::uint32_t>(turn[1])});
  return {};
}

/// A sender that played `model` before: the words that Save wrote of it.
Status ServerSession::Book::Know(std::uint32_t model, std::span<const std::uint64_t> words) {
  Sender& sender = senders[words[0]];
  sender.id = words[0];
  sender.kept_sequence = std::max(sender.kept_sequence, words[1]);
  Share& share = sender.shares[model];
  share.model = model;
  share.given_trajectories = words[2];
  share.given_steps = words[3];
  share.committed = {0, words[1], words[2], words[3]};
  for (std::size_t i = kSenderWords; i < words.size(); i += 2) {
    if (words[i + 1] >= kMostIndices) return Bent();
    const auto index = static_cast<std::uint32_t>(words[i + 1]);
    former_agents += share.former.emplace(static_cast<std::uint32_t>(words[i]), index).second;
    indices.Know(index);
  }
  return {};
}

void ServerSession::Commit(std::uint32_t model, std::span<const Mark> marks) {
  for (const Mark& mark : marks) {
    const auto sender = book_->senders.find(mark.sender);
    if (sender == book_->senders.end() || !sender->second.shares.contains(model)) continue;
    sender->second.shares.at(model).committed = {0, mark.sequence, mark.trajectories, mark.steps};
    book_->TellCommitted(sender->second, model);
  }
}

std::uint64_t ServerSession::lost_trajectories() const { return book_->lost_trajectories; }

}  // namespace murmurate::wire
