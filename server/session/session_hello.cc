#include <algorithm>
#include <utility>

#include "server/session/session_state.h"
#include "shared/core/random.h"

namespace murmurate::wire {

void ServerSession::State::OnHello(const std::string& peer, const Header& header,
                                   const Hello& hello, Models& lookup, std::int64_t now) {
  if (leaving) return;
  if (hello.min_major > kMajor || hello.max_major < kMajor) {
    return RefuseHello(peer, header, hello, Refusal::kVersion,
                       "the learner speaks protocol version " + std::to_string(kMajor) +
                           ", this client " + std::to_string(hello.min_major) + " to " +
                           std::to_string(hello.max_major) +
                           ": update the older of the two programs",
                       now);
  }
  if (!MayClaim(peer, header.sender, now)) return;
  std::vector<std::uint32_t> models;
  Sender* known = table.AtPeer(peer);
  if (!LookUp(peer, header, hello, lookup, &models, now)) {
    if (!models.empty() && models.back() == Models::kBeingMade) return;
    if (known != nullptr) table.Leave(*known);
    return;
  }
  if (!credits.HasRoomFor(models, known == nullptr ? 0 : known->reserve_bytes)) {
    return RefuseHello(peer, header, hello, Refusal::kBusy,
                       "no memory is left for another actor: server.ingest_budget_bytes is " +
                           std::to_string(limits.ingest_budget_bytes) + "; raise it",
                       now);
  }
  if (!table.HasRoomFor(known, hello)) {
    return RefuseHello(peer, header, hello, Refusal::kBusy,
                       "the learner has room for " + std::to_string(limits.max_agents) +
                           " agents of all its actors together: play with fewer",
                       now);
  }
  Sender& sender = table.Enter(peer, header.sender, hello);
  replies.RemoveRefusedActor(sender.id);
  table.Hear(sender, now);
  table.SetModels(sender, hello, models);
  credits.FitBytes(sender);
  credits.Grant(table.senders(), replies, now);
  sender.totals_sent = true;
  // Before HELLO_OK, which lets the client begin to play.
  if (settings.revision != 0) replies.Send(peer, settings);
  replies.Send(peer, Welcome(sender), header.sequence);
  if (known != nullptr) return;
  for (const std::uint32_t model : models) SendCommitted(sender, model);
}

void ServerSession::State::RefuseHello(const std::string& peer, const Header& header,
                                       const Hello& hello, Refusal refusal, std::string sentence,
                                       std::int64_t now) {
  replies.AddRefusedActor({hello.actor_name, sentence, header.sender, now});
  Refuse(peer, refusal, std::move(sentence), 0, now);
}

/// Whether `id` may have a session on this connection; says no, or asks the other connection.
bool ServerSession::State::MayClaim(const std::string& peer, std::uint64_t id, std::int64_t now) {
  const Sender* other = table.AtPeer(peer);
  if (other != nullptr && other->id != id) {
    Refuse(peer, Refusal::kMalformed, "this connection is registered as another sender", 0, now);
    return false;
  }
  Sender* sender = table.Find(id);
  if (sender == nullptr || sender->gone()) {
    if (credits.present() < limits.max_actors) return true;
    Refuse(peer, Refusal::kBusy,
           "the learner has its " + std::to_string(limits.max_actors) +
               " actors already: raise server.max_actors",
           0, now);
    return false;
  }
  if (sender->peer == peer) return true;
  if (!sender->live() || now - sender->last_heard_ns > limits.stalled_after_ns) {
    table.Leave(*sender);
    return true;
  }
  if (sender->claimed_ns < 0) {
    // If that connection is dead, this shows it, and the next HELLO is welcome.
    sender->claimed_ns = now;
    replies.Send(sender->peer, Pong{0, incarnation, credits.Totals(*sender)});
    replies.Count(Refusal::kBusy);
  } else if (sender->last_heard_ns > sender->claimed_ns) {
    sender->claimed_ns = -1;
    Refuse(peer, Refusal::kBusy, "another connection is registered as this sender", 0, now);
  }
  return false;
}

bool ServerSession::State::LookUp(const std::string& peer, const Header& header, const Hello& hello,
                                  Models& lookup, std::vector<std::uint32_t>* models,
                                  std::int64_t now) {
  for (const HelloModel& model : hello.models) {
    const Result<std::uint32_t> number = lookup.Lookup(model.name, model.spaces);
    if (!number.ok()) {
      const bool full = number.status().code() == StatusCode::kResource;
      RefuseHello(peer, header, hello, full ? Refusal::kBusy : Refusal::kSpaces,
                  number.status().message(), now);
      return false;
    }
    if (std::find(models->begin(), models->end(), *number) != models->end()) {
      RefuseHello(peer, header, hello, Refusal::kSpaces, "model " + model.name + " is named twice",
                  now);
      return false;
    }
    models->push_back(*number);
    if (*number == Models::kBeingMade) return false;
    if ((credits.pool(*number).model.features & ~hello.features) != 0) {
      RefuseHello(peer, header, hello, Refusal::kVersion,
                  "model " + model.name +
                      ": its text is of a version that this client does not know: update the "
                      "game's murmurate library",
                  now);
      return false;
    }
  }
  return true;
}

HelloOk ServerSession::State::Welcome(const Sender& sender) const {
  HelloOk ok;
  ok.incarnation = incarnation;
  ok.resumed = resumed;
  ok.heartbeat_ms = limits.heartbeat_ms;
  ok.bytes_total = sender.bytes_granted;
  ok.announce_address = announce_address;
  ok.weights_address = weights_address;
  ok.session = sender.session;
  ok.number = sender.hello_number;
  ok.sequence = sender.last_sequence;
  ok.kept_sequence = sender.kept_sequence;
  for (const std::uint32_t model : sender.models) {
    const Share& share = sender.shares.at(model);
    HelloOkModel welcome = credits.pool(model).model.welcome;
    if (host != 0 && sender.host_identity != host) welcome.segment.clear();
    welcome.version = credits.pool(model).version;
    welcome.steps_total = share.granted * welcome.trajectory_length;
    welcome.at_version = share.at_version;
    for (const AgentSlot& slot : share.slots()) {
      welcome.agent_indices.push_back(slot.index);
      welcome.agent_seeds.push_back(DeriveSeed(seed, slot.index));
    }
    ok.models.push_back(std::move(welcome));
  }
  return ok;
}

}  // namespace murmurate::wire
