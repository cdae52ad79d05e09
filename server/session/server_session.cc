#include "server/session/server_session.h"

#include <algorithm>

#include "server/session/session_state.h"

namespace murmurate::wire {

void ServerSession::State::Refuse(const std::string& peer, Refusal refusal, std::string sentence,
                                  std::uint64_t sequence, std::int64_t now) {
  if (!replies.Refuse(peer, refusal, std::move(sentence), sequence, now)) return;
  if (Sender* sender = table.AtPeer(peer); sender != nullptr) credits.Mute(*sender);
}

Sender* ServerSession::State::Registered(const std::string& peer, const Header& header,
                                         std::int64_t now) {
  Sender* sender = table.AtPeer(peer);
  if (sender == nullptr) {
    replies.RefuseUnknownPeer(peer, header.sequence, now);
    return nullptr;
  }
  if (sender->id != header.sender) {
    Refuse(peer, Refusal::kMalformed, "this connection is registered as another sender",
           header.sequence, now);
    return nullptr;
  }
  table.Hear(*sender, now);
  return sender;
}

void ServerSession::State::OnPing(Sender& sender, const Ping& ping, std::int64_t now) {
  for (std::size_t i = 0; i < std::min(ping.models.size(), sender.models.size()); ++i) {
    Share& share = sender.shares.at(sender.models[i]);
    if (ping.models[i].steps > share.pinged_steps) table.Progress(sender, share, now);
    share.pinged_steps = std::max(share.pinged_steps, ping.models[i].steps);
    share.pinged_dropped = std::max(share.pinged_dropped, ping.models[i].dropped_steps);
    share.wait = i < ping.waits.size() ? ping.waits[i] : PingWait();
  }
  sender.troubles = ping.troubles;
  replies.Send(sender.peer, Pong{ping.sent_ns, incarnation, credits.Totals(sender)});
}

void ServerSession::State::SendToAll(const Body& body) {
  for (const auto& [peer, id] : table.peers()) replies.Send(peer, body);
}

/// Sends COMMITTED if a checkpoint has something of a model that the sender plays.
void ServerSession::State::SendCommitted(const Sender& sender, std::uint32_t model) {
  const auto named = std::find(sender.models.begin(), sender.models.end(), model);
  if (sender.gone() || named == sender.models.end()) return;
  Committed committed = sender.shares.at(model).committed;
  if (committed.sequence == 0) return;
  committed.model = static_cast<std::uint32_t>(named - sender.models.begin());
  replies.Send(sender.peer, committed, committed.sequence);
}

/// Examines a message in order: its credit, then whose it is.
ServerSession::Verdict ServerSession::State::Examine(Sender& sender, const Decoded& message,
                                                     std::int64_t now) {
  const auto& experience = std::get<Experience>(message.body);
  const std::uint64_t sequence = message.header.sequence;
  const std::size_t bytes = message.block.size();
  const bool steps = experience.steps > 0;
  Share* share = sender.ShareOf(experience.model);
  const bool overdrawn = (steps && share != nullptr && share->received >= share->granted) ||
                         sender.bytes_received + bytes > sender.bytes_granted;
  if (overdrawn) {
    ++sender.refused;
    sender.acknowledged = sequence;
    credits.MarkUnsent(sender);
    Refuse(sender.peer, Refusal::kCredit, "more was sent than the learner gave credit for",
           sequence, now);
    return {};
  }
  sender.bytes_received += bytes;
  if (steps && share != nullptr) ++share->received;
  const AgentSlot* slot = share == nullptr ? nullptr : share->Find(experience.agent);
  Refusal refusal = slot == nullptr ? Refusal::kMeaning : Refusal::kNone;
  std::string sentence = "model " + std::to_string(experience.model) + ", agent " +
                         std::to_string(experience.agent) + ": expected one that HELLO named";
  if (experience.incarnation != 0 && experience.incarnation != incarnation && !resumed) {
    refusal = Refusal::kIncarnation;
    sentence = "played under the weights of another learner, which this one does not go on from";
  }
  if (slot != nullptr) {
    share->CountSteps(*slot, experience.agent_steps, experience.steps);
    if (steps) table.Progress(sender, *share, now);
  }
  if (refusal != Refusal::kNone || replies.Muted(sender.peer, now)) {
    ++sender.refused;
    credits.Return(sender, share, sequence, bytes, steps);
    if (refusal != Refusal::kNone) Refuse(sender.peer, refusal, std::move(sentence), sequence, now);
    return {};
  }
  sender.unacknowledged[sequence] = {bytes, sender.session};
  return {.accept = true, .model = share->model, .agent_index = slot->index};
}

ServerSession::ServerSession(std::uint64_t incarnation, bool resumed, std::uint64_t seed,
                             Limits limits)
    : state_(std::make_unique<State>(incarnation, resumed, seed, limits)) {}
ServerSession::~ServerSession() = default;

std::uint32_t ServerSession::AddModel(SessionModel model) {
  state_->table.AddModel();
  return state_->credits.AddModel(std::move(model));
}

void ServerSession::SetAddresses(std::string announce, std::string weights,
                                 std::uint64_t host_identity) {
  state_->host = host_identity;
  state_->announce_address = std::move(announce);
  state_->weights_address = std::move(weights);
}

void ServerSession::OnMessage(const std::string& peer, const Decoded& message, Models& models,
                              std::int64_t now_ns) {
  state_->last_ns = now_ns;
  if (const auto* hello = std::get_if<Hello>(&message.body)) {
    if (!state_->replies.Muted(peer, now_ns))
      state_->OnHello(peer, message.header, *hello, models, now_ns);
    return;
  }
  Sender* sender = state_->Registered(peer, message.header, now_ns);
  if (sender == nullptr) return;
  if (const auto* ping = std::get_if<Ping>(&message.body)) {
    state_->OnPing(*sender, *ping, now_ns);
  } else if (std::holds_alternative<Bye>(message.body)) {
    state_->table.Leave(*sender);
  } else {
    state_->Refuse(peer, Refusal::kUnknownType, "a message of this type is not for this socket", 0,
                   now_ns);
  }
}

ServerSession::Verdict ServerSession::OnExperience(const std::string& peer, const Decoded& message,
                                                   std::int64_t now_ns) {
  state_->last_ns = now_ns;
  Sender* sender = state_->Registered(peer, message.header, now_ns);
  if (sender == nullptr) return {};
  const std::uint64_t sequence = message.header.sequence;
  if (sequence <= sender->last_sequence) {
    ++state_->duplicates;
    state_->credits.MarkUnsent(*sender);
    return {.duplicate = true};
  }
  if (sequence != sender->last_sequence + 1) {
    const std::string expected = std::to_string(sender->last_sequence + 1);
    ++sender->refused;
    state_->table.Leave(*sender);
    state_->Refuse(peer, Refusal::kSequence,
                   "sequence: expected " + expected + ", got " + std::to_string(sequence) +
                       "; messages were lost, say HELLO to begin a new session",
                   sequence, now_ns);
    return {};
  }
  sender->last_sequence = sequence;
  return state_->Examine(*sender, message, now_ns);
}

void ServerSession::Acknowledge(const std::string& peer, const Decoded& message, Refusal refused,
                                std::string sentence, std::int64_t now_ns) {
  state_->last_ns = now_ns;
  const auto& experience = std::get<Experience>(message.body);
  Sender* found = state_->table.Find(message.header.sender);
  if (found == nullptr) return;
  Sender& sender = *found;
  Share* share = sender.ShareOf(experience.model);
  const bool steps = experience.steps > 0;
  const bool accepted = refused == Refusal::kNone;
  if (accepted && steps && share != nullptr) {
    state_->credits.pool(share->model).Delivered();
    ++sender.trajectories;
    ++share->given_trajectories;
    share->given_steps += experience.steps;
  }
  if (!accepted) ++sender.refused;
  const std::uint64_t sequence = message.header.sequence;
  if (const auto node = sender.unacknowledged.extract(sequence); !node.empty()) {
    const Sender::Unacknowledged& spent = node.mapped();
    if (sender.peer == peer && spent.session == sender.session && !sender.gone())
      state_->credits.Return(sender, share, sequence, spent.bytes, steps);
  }
  if (!accepted) state_->Refuse(peer, refused, std::move(sentence), sequence, now_ns);
}

void ServerSession::OnUndecodable(const std::string& peer, const DecodeFailure& failure,
                                  std::int64_t now_ns) {
  state_->last_ns = now_ns;
  state_->Refuse(peer, failure.refusal, failure.sentence, failure.sequence, now_ns);
}

void ServerSession::ReleaseTrajectories(std::uint32_t model, int count, std::uint64_t version,
                                        std::int64_t now_ns) {
  state_->last_ns = now_ns;
  SetVersion(model, version);
  state_->credits.pool(model).Released(count);
}

void ServerSession::SetVersion(std::uint32_t model, std::uint64_t version) {
  CreditPool& pool = state_->credits.pool(model);
  pool.dirty |= pool.model.current_only && pool.version != version;
  pool.version = version;
}

void ServerSession::SetLearned(std::uint32_t model, std::uint64_t steps) {
  state_->credits.pool(model).learned_steps = steps;
}

void ServerSession::SetBatch(std::uint32_t model, const SessionBatch& batch) {
  Senders& senders = state_->table.senders();
  state_->credits.SetBatch(model, batch, senders);
  for (auto& [id, sender] : senders) {
    if (sender.gone() || sender.ShareOfModel(model) == nullptr) continue;
    state_->credits.FitBytes(sender);
    sender.totals_sent = true;
    state_->replies.SendHelloOk(sender.peer, state_->Welcome(sender), 0);
  }
}

void ServerSession::CloseBatch(std::uint32_t model) { state_->credits.pool(model).CloseRound(); }

void ServerSession::CountStaleness(std::uint64_t sender, std::uint64_t versions) {
  if (Sender* found = state_->table.Find(sender); found != nullptr) found->staleness.Add(versions);
}

void ServerSession::SetSettings(Settings settings) {
  state_->settings = std::move(settings);
  state_->SendToAll(state_->settings);
}

void ServerSession::OnTick(std::int64_t now_ns) {
  state_->last_ns = now_ns;
  state_->replies.ForgetOld(now_ns);
  state_->table.Tick(now_ns);
}

void ServerSession::StopGranting() { state_->credits.Stop(); }

void ServerSession::SayGoaway(const Goaway& goaway) {
  state_->leaving = true;
  state_->credits.Stop();
  state_->replies.IgnoreUnknownPeers();
  state_->SendToAll(goaway);
}

void ServerSession::OnUnreachable(const std::string& peer, std::int64_t now_ns) {
  state_->last_ns = now_ns;
  state_->replies.Forget(peer);
  Sender* sender = state_->table.AtPeer(peer);
  if (sender == nullptr) return;
  if (!sender->cut_off()) sender->cut_off_ns = now_ns;
  state_->table.Stall(*sender);
}

void ServerSession::OnStuck(const std::string& peer, std::int64_t now_ns) {
  state_->last_ns = now_ns;
  state_->replies.Forget(peer);
  if (Sender* sender = state_->table.AtPeer(peer); sender != nullptr) state_->table.Leave(*sender);
}

std::vector<ServerSession::Reply> ServerSession::PopReplies() {
  state_->credits.Grant(state_->table.senders(), state_->replies, state_->last_ns);
  state_->credits.SendUnsent(state_->table.senders(), state_->replies);
  return state_->replies.PopAll();
}

}  // namespace murmurate::wire
