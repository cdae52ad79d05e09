#include "server/session/server_session.h"

#include <algorithm>

#include "server/session/session_book.h"

namespace murmurate::wire {

namespace {

/// Broken or lying messages; the others are a client's that does nothing wrong by itself.
bool IsReject(Refusal refusal) {
  return refusal == Refusal::kMalformed || refusal == Refusal::kUnknownType ||
         refusal == Refusal::kTooLarge || refusal == Refusal::kCredit ||
         refusal == Refusal::kSequence || refusal == Refusal::kMeaning ||
         refusal == Refusal::kNotFinite;
}

}  // namespace

void ServerSession::Book::Refuse(const std::string& peer, Refusal refusal, std::string sentence,
                                 std::uint64_t sequence, std::int64_t now) {
  ++refusals[static_cast<int>(refusal)];
  if (rejects.Muted(peer, now)) return;
  if (IsReject(refusal) && rejects.Note(peer, now)) {
    if (const auto known = peers.find(peer);
        known != peers.end() && muted.insert(known->second).second)
      Touch(senders.at(known->second));
    sentence += "; too much of this: nothing more is heard from here for 60 s";
  }
  replies.push_back({peer, Error{refusal, std::move(sentence), sequence}, sequence});
}

/// Many messages may be under way when a session ends: one answer is enough.
void ServerSession::Book::RefuseStranger(const std::string& peer, std::uint64_t sequence) {
  ++refusals[static_cast<int>(Refusal::kNotRegistered)];
  if (leaving || !strangers.insert(peer).second) return;
  replies.push_back(
      {peer, Error{Refusal::kNotRegistered, "this connection has no session: say HELLO", sequence},
       sequence});
}

Sender* ServerSession::Book::Registered(const std::string& peer, const Header& header,
                                        std::int64_t now) {
  const auto known = peers.find(peer);
  if (known == peers.end()) {
    if (!rejects.Muted(peer, now)) RefuseStranger(peer, header.sequence);
    return nullptr;
  }
  if (known->second != header.sender) {
    Refuse(peer, Refusal::kMalformed, "this connection is registered as another sender",
           header.sequence, now);
    return nullptr;
  }
  Sender& sender = senders.at(known->second);
  Heard(sender, now);
  return &sender;
}

void ServerSession::Book::Untell(Sender& sender) {
  sender.told = false;
  if (sender.queued) return;
  sender.queued = true;
  untold.push_back(sender.id);
}

std::vector<ModelCredit> ServerSession::Book::Credits(const Sender& sender) const {
  std::vector<ModelCredit> credits;
  for (const std::uint32_t model : sender.models) {
    const Share& share = sender.shares.at(model);
    credits.push_back({share.granted * pools[model].model.welcome.trajectory_length,
                       share.at_version, pools[model].version});
  }
  return credits;
}

void ServerSession::Book::Progress(const Sender& sender, Share& share, std::int64_t now) {
  share.progress_ns = now;
  if (!share.idle) return;
  share.idle = false;
  pools[share.model].Touch(sender, &share);
  pools[share.model].dirty = true;
}

void ServerSession::Book::OnPing(Sender& sender, const Ping& ping, std::int64_t now) {
  for (std::size_t i = 0; i < std::min(ping.models.size(), sender.models.size()); ++i) {
    Share& share = sender.shares.at(sender.models[i]);
    if (ping.models[i].steps > share.pinged_steps) Progress(sender, share, now);
    share.pinged_steps = std::max(share.pinged_steps, ping.models[i].steps);
    share.pinged_dropped = std::max(share.pinged_dropped, ping.models[i].dropped_steps);
    share.waited_ns = ping.models[i].waited_ns;
    share.played_ns = ping.models[i].played_ns;
  }
  sender.troubles = ping.troubles;
  replies.push_back({sender.peer, Pong{ping.sent_ns, incarnation, Credits(sender)}, 0});
}

/// Gives back what a message of this session has spent.
void ServerSession::Book::Settle(Sender& sender, Share* share, std::uint64_t sequence,
                                 std::size_t bytes, bool steps) {
  sender.bytes_dealt += bytes;
  windows -= bytes;
  sender.acknowledged = std::max(sender.acknowledged, sequence);
  if (share != nullptr && steps) {
    ++share->settled;
    pools[share->model].Touch(sender, share);
    pools[share->model].dirty = true;
  }
  FitBytes(sender);
  Untell(sender);
}

void ServerSession::Book::CountSteps(const Sender& sender, Share& share, const Seat& seat,
                                     const Experience& experience, std::int64_t now) {
  share.CountSteps(seat, experience.agent_steps, experience.steps);
  if (experience.steps > 0) Progress(sender, share, now);
}

/// Of a message in order: credit, then whose it is.
ServerSession::Verdict ServerSession::Book::Examine(Sender& sender, const Decoded& message,
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
    Untell(sender);
    Refuse(sender.peer, Refusal::kCredit, "more was sent than the learner gave credit for",
           sequence, now);
    return {};
  }
  sender.bytes_received += bytes;
  if (steps && share != nullptr) ++share->received;
  const Seat* seat = share == nullptr ? nullptr : share->Find(experience.agent);
  Refusal refusal = seat == nullptr ? Refusal::kMeaning : Refusal::kNone;
  std::string sentence = "model " + std::to_string(experience.model) + ", agent " +
                         std::to_string(experience.agent) + ": expected one that HELLO named";
  if (experience.incarnation != 0 && experience.incarnation != incarnation && !resumed) {
    refusal = Refusal::kIncarnation;
    sentence = "played under the weights of another learner, which this one does not go on from";
  }
  if (seat != nullptr) CountSteps(sender, *share, *seat, experience, now);
  if (refusal != Refusal::kNone || rejects.Muted(sender.peer, now)) {
    ++sender.refused;
    Settle(sender, share, sequence, bytes, steps);
    if (refusal != Refusal::kNone) Refuse(sender.peer, refusal, std::move(sentence), sequence, now);
    return {};
  }
  sender.undealt[sequence] = {bytes, sender.session};
  return {.accept = true, .model = share->model, .agent_index = seat->index};
}

ServerSession::ServerSession(std::uint64_t incarnation, bool resumed, std::uint64_t seed,
                             Limits limits)
    : book_(std::make_unique<Book>(incarnation, resumed, seed, limits)) {}
ServerSession::~ServerSession() = default;

std::uint32_t ServerSession::AddModel(SessionModel model) {
  book_->pools.emplace_back(std::move(model));
  book_->old_steps.push_back(0);
  book_->old_dropped.push_back(0);
  return static_cast<std::uint32_t>(book_->pools.size() - 1);
}

void ServerSession::SetHost(std::uint64_t host_identity) { book_->host = host_identity; }

void ServerSession::SetAddresses(std::string announce, std::string weights) {
  book_->announce_address = std::move(announce);
  book_->weights_address = std::move(weights);
}

void ServerSession::OnMessage(const std::string& peer, const Decoded& message, Models& models,
                              std::int64_t now_ns) {
  book_->last_ns = now_ns;
  if (const auto* hello = std::get_if<Hello>(&message.body)) {
    if (!book_->rejects.Muted(peer, now_ns)) {
      book_->OnHello(peer, message.header, *hello, models, now_ns);
    }
    return;
  }
  Sender* sender = book_->Registered(peer, message.header, now_ns);
  if (sender == nullptr) return;
  if (const auto* ping = std::get_if<Ping>(&message.body)) {
    book_->OnPing(*sender, *ping, now_ns);
  } else if (std::holds_alternative<Bye>(message.body)) {
    book_->Leave(*sender);
  } else {
    book_->Refuse(peer, Refusal::kUnknownType, "a message of this type is not for this socket", 0,
                  now_ns);
  }
}

ServerSession::Verdict ServerSession::OnExperience(const std::string& peer, const Decoded& message,
                                                   std::int64_t now_ns) {
  book_->last_ns = now_ns;
  Sender* sender = book_->Registered(peer, message.header, now_ns);
  if (sender == nullptr) return {};
  const std::uint64_t sequence = message.header.sequence;
  if (sequence <= sender->last_sequence) {
    ++book_->duplicates;
    book_->Untell(*sender);
    return {.duplicate = true};
  }
  if (sequence != sender->last_sequence + 1) {
    const std::string expected = std::to_string(sender->last_sequence + 1);
    ++sender->refused;
    book_->Leave(*sender);
    book_->Refuse(peer, Refusal::kSequence,
                  "sequence: expected " + expected + ", got " + std::to_string(sequence) +
                      "; messages were lost, say HELLO to begin a new session",
                  sequence, now_ns);
    return {};
  }
  sender->last_sequence = sequence;
  return book_->Examine(*sender, message, now_ns);
}

void ServerSession::Dealt(const std::string& peer, const Decoded& message, Refusal refused,
                          std::string sentence, std::int64_t now_ns) {
  book_->last_ns = now_ns;
  const auto& experience = std::get<Experience>(message.body);
  const auto found = book_->senders.find(message.header.sender);
  if (found == book_->senders.end()) return;
  Sender& sender = found->second;
  Share* share = sender.ShareOf(experience.model);
  const bool steps = experience.steps > 0;
  const bool accepted = refused == Refusal::kNone;
  if (accepted && steps && share != nullptr) {
    book_->pools[share->model].Delivered();
    ++sender.trajectories;
    ++share->given_trajectories;
    share->given_steps += experience.steps;
  }
  if (!accepted) ++sender.refused;
  const std::uint64_t sequence = message.header.sequence;
  const auto undealt = sender.undealt.find(sequence);
  if (undealt != sender.undealt.end()) {
    const Sender::Undealt handed = undealt->second;
    sender.undealt.erase(undealt);
    if (sender.peer == peer && handed.session == sender.session && !sender.gone())
      book_->Settle(sender, share, sequence, handed.bytes, steps);
  }
  if (!accepted) book_->Refuse(peer, refused, std::move(sentence), sequence, now_ns);
}

void ServerSession::OnUndecodable(const std::string& peer, const DecodeFailure& failure,
                                  std::int64_t now_ns) {
  book_->last_ns = now_ns;
  book_->Refuse(peer, failure.refusal, failure.sentence, failure.sequence, now_ns);
}

void ServerSession::ReleaseTrajectories(std::uint32_t model, int count, std::uint64_t version,
                                        std::int64_t now_ns) {
  book_->last_ns = now_ns;
  SetVersion(model, version);
  book_->pools[model].Released(count);
}

void ServerSession::SetVersion(std::uint32_t model, std::uint64_t version) {
  CreditPool& pool = book_->pools[model];
  pool.dirty |= pool.model.current_only && pool.version != version;
  pool.version = version;
}

void ServerSession::SetLearned(std::uint32_t model, std::uint64_t steps) {
  book_->pools[model].learned_steps = steps;
}

void ServerSession::CloseBatch(std::uint32_t model) { book_->pools[model].CloseRound(); }

void ServerSession::CountStaleness(std::uint64_t sender, std::uint64_t versions) {
  const auto found = book_->senders.find(sender);
  if (found != book_->senders.end()) found->second.staleness.Add(versions);
}

void ServerSession::SetSettings(Settings settings) {
  book_->settings = std::move(settings);
  for (const auto& [peer, id] : book_->peers) book_->replies.push_back({peer, book_->settings, 0});
}

void ServerSession::OnTick(std::int64_t now_ns) {
  book_->last_ns = now_ns;
  book_->Tick(now_ns);
}

void ServerSession::StopGranting() { book_->finishing = true; }

void ServerSession::SayGoaway(const Goaway& goaway) {
  book_->leaving = true;
  for (const auto& [peer, id] : book_->peers) book_->replies.push_back({peer, goaway, 0});
}

void ServerSession::OnUnreachable(const std::string& peer, std::int64_t now_ns) {
  book_->last_ns = now_ns;
  book_->rejects.Forget(peer);
  const auto known = book_->peers.find(peer);
  if (known == book_->peers.end()) return;
  Sender& sender = book_->senders.at(known->second);
  if (!sender.cut_off()) sender.cut_off_ns = now_ns;
  book_->Stall(sender);
}

void ServerSession::OnDeaf(const std::string& peer, std::int64_t now_ns) {
  book_->last_ns = now_ns;
  book_->rejects.Forget(peer);
  const auto known = book_->peers.find(peer);
  if (known != book_->peers.end()) book_->Leave(book_->senders.at(known->second));
}

std::vector<ServerSession::Reply> ServerSession::TakeReplies() {
  book_->GrantAll(book_->last_ns);
  for (const std::uint64_t id : book_->untold) {
    const auto found = book_->senders.find(id);
    if (found == book_->senders.end()) continue;
    Sender& sender = found->second;
    sender.queued = false;
    if (sender.told || sender.gone() || sender.cut_off()) continue;
    sender.told = true;
    Accepted accepted{sender.acknowledged, sender.bytes_granted, book_->Credits(sender)};
    book_->replies.push_back({sender.peer, std::move(accepted), sender.acknowledged});
  }
  book_->untold.clear();
  book_->strangers.clear();
  return std::exchange(book_->replies, {});
}

}  // namespace murmurate::wire
