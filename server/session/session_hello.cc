#include <algorithm>
#include <utility>

#include "server/session/session_book.h"
#include "shared/core/random.h"

namespace murmurate::wire {
namespace {

constexpr std::size_t kMostGone = 256;
constexpr std::int64_t kLastWordsNs = 1'000'000'000;  ///< of one whose connection is gone
constexpr std::size_t kMostRefusedActors = 16;

}  // namespace

void ServerSession::Book::OnHello(const std::string& peer, const Header& header, const Hello& hello,
                                  Models& lookup, std::int64_t now) {
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
  const auto known = peers.find(peer);
  if (!LookUp(peer, header, hello, lookup, &models, now)) {
    if (!models.empty() && models.back() == Models::kBeingMade) return;
    if (known != peers.end()) Leave(senders.at(known->second));
    return;
  }
  const std::size_t own = known == peers.end() ? 0 : senders.at(known->second).reserve_bytes;
  if (reserves - own + ReserveFor(models) > limits.ingest_budget_bytes) {
    return RefuseHello(peer, header, hello, Refusal::kBusy,
                       "no memory is left for another actor: server.ingest_budget_bytes is " +
                           std::to_string(limits.ingest_budget_bytes) + "; raise it",
                       now);
  }
  if (!HasRoomFor(known == peers.end() ? nullptr : &senders.at(known->second), hello)) {
    return RefuseHello(peer, header, hello, Refusal::kBusy,
                       "the learner has room for " + std::to_string(limits.max_agents) +
                           " agents of all its actors together: play with fewer",
                       now);
  }
  const bool fresh = known == peers.end();
  Sender& sender = Enter(peer, header.sender, hello);
  Heard(sender, now);
  TakeModels(sender, hello, models);
  FitBytes(sender);
  GrantAll(now);
  sender.told = true;
  // First: whoever is welcome may begin to play.
  if (settings.revision != 0) replies.push_back({peer, settings, 0});
  replies.push_back({peer, Welcome(sender, hello), header.sequence});
  if (!fresh) return;
  for (const std::uint32_t model : models) TellCommitted(sender, model);
}

void ServerSession::Book::RefuseHello(const std::string& peer, const Header& header,
                                      const Hello& hello, Refusal refusal, std::string sentence,
                                      std::int64_t now) {
  std::erase_if(refused_actors,
                [&](const RefusedActor& actor) { return actor.sender == header.sender; });
  if (refused_actors.size() == kMostRefusedActors) refused_actors.pop_front();
  refused_actors.push_back({hello.actor_name, sentence, header.sender, now});
  Refuse(peer, refusal, std::move(sentence), 0, now);
}

/// Of a model that it plays and that has a checkpoint with something of it.
void ServerSession::Book::TellCommitted(const Sender& sender, std::uint32_t model) {
  const auto named = std::find(sender.models.begin(), sender.models.end(), model);
  if (sender.gone() || named == sender.models.end()) return;
  Committed committed = sender.shares.at(model).committed;
  if (committed.sequence == 0) return;
  committed.model = static_cast<std::uint32_t>(named - sender.models.begin());
  replies.push_back({sender.peer, committed, committed.sequence});
}

/// Whether `id` may have a session on this connection; says no, or asks the other connection.
bool ServerSession::Book::MayClaim(const std::string& peer, std::uint64_t id, std::int64_t now) {
  const auto other = peers.find(peer);
  if (other != peers.end() && other->second != id) {
    Refuse(peer, Refusal::kMalformed, "this connection is registered as another sender", 0, now);
    return false;
  }
  const auto found = senders.find(id);
  if (found == senders.end() || found->second.gone()) {
    if (present < limits.max_actors) return true;
    Refuse(peer, Refusal::kBusy,
           "the learner has its " + std::to_string(limits.max_actors) +
               " actors already: raise server.max_actors",
           0, now);
    return false;
  }
  Sender& sender = found->second;
  if (sender.peer == peer) return true;
  if (!sender.live() || now - sender.last_heard_ns > limits.stalled_after_ns) {
    Leave(sender);
    return true;
  }
  if (sender.claimed_ns < 0) {
    // If that connection is dead, this shows it, and the next HELLO is welcome.
    sender.claimed_ns = now;
    replies.push_back({sender.peer, Pong{0, incarnation, Credits(sender)}, 0});
    ++refusals[static_cast<int>(Refusal::kBusy)];
  } else if (sender.last_heard_ns > sender.claimed_ns) {
    sender.claimed_ns = -1;
    Refuse(peer, Refusal::kBusy, "another connection is registered as this sender", 0, now);
  }
  return false;
}

bool ServerSession::Book::LookUp(const std::string& peer, const Header& header, const Hello& hello,
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
    if ((pools[*number].model.features & ~hello.features) != 0) {
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

/// `sender`: who says this HELLO, if it has a session; its agents give way to those it names.
bool ServerSession::Book::HasRoomFor(const Sender* sender, const Hello& hello) const {
  std::size_t agents = seated;
  if (sender != nullptr) agents -= static_cast<std::size_t>(sender->agents());
  for (const HelloModel& model : hello.models) agents += model.agents.size();
  return agents <= limits.max_agents;
}

std::size_t ServerSession::Book::ReserveFor(const std::vector<std::uint32_t>& models) const {
  std::size_t bytes = 0;
  for (const std::uint32_t model : models) bytes = std::max(bytes, pools[model].model.block_bytes);
  return bytes;
}

Sender& ServerSession::Book::Enter(const std::string& peer, std::uint64_t id, const Hello& hello) {
  Sender& sender = senders[id];
  sender.name = hello.actor_name;
  sender.pace = hello.pace;
  std::erase_if(refused_actors, [&](const RefusedActor& actor) { return actor.sender == id; });
  if (!sender.gone()) return sender;
  sender.id = id;
  sender.peer = peer;
  sender.health = Sender::Health::kLive;
  sender.session = ++sessions;
  const bool first = !std::exchange(sender.heard_here, true);
  if (resumed && first && hello.sequence > sender.kept_sequence)
    lost_trajectories += hello.sequence - sender.kept_sequence;
  sender.last_sequence = sender.acknowledged = std::max(hello.sequence, sender.kept_sequence);
  sender.claimed_ns = -1;
  peers[peer] = id;
  ++present;
  return sender;
}

/// Agents that are still there keep their places; those of the others are free again.
void ServerSession::Book::TakeSeats(Share& share, const std::vector<std::uint32_t>& numbers) {
  std::vector<Seat> seats, gone = share.seats();
  for (const std::uint32_t number : numbers) {
    const Seat* kept = share.Find(number);
    seats.push_back(kept == nullptr ? Seat{.number = number, .index = kNoIndex} : *kept);
    if (kept != nullptr)
      gone[static_cast<std::size_t>(kept - share.seats().data())].index = kNoIndex;
  }
  std::erase_if(gone, [](const Seat& seat) { return seat.index == kNoIndex; });
  seated -= share.seats().size();
  share.TakeSeats(std::move(gone));
  seated += share.seats().size();
  FreeSeats(share);
  for (Seat& seat : seats) {
    if (seat.index != kNoIndex) continue;
    const auto former = share.former.find(seat.number);
    seat.index = former == share.former.end() ? indices.Take() : indices.TakeAgain(former->second);
  }
  share.TakeSeats(std::move(seats));
  seated += share.seats().size();
}

void ServerSession::Book::TakeModels(Sender& sender, const Hello& hello,
                                     const std::vector<std::uint32_t>& models) {
  for (auto& [model, share] : sender.shares) {
    if (std::find(models.begin(), models.end(), model) == models.end()) FreeSeats(share);
  }
  sender.models = models;
  sender.wanted_bytes = 0;
  for (std::size_t i = 0; i < models.size(); ++i) {
    Share& share = sender.shares[models[i]];
    share.model = models[i];
    TakeSeats(share, hello.models[i].agents);
    const SessionModel& model = pools[models[i]].model;
    sender.wanted_bytes += static_cast<std::size_t>(model.outstanding_limit) * model.block_bytes;
  }
  Touch(sender);
  reserves -= sender.reserve_bytes;
  sender.reserve_bytes = ReserveFor(models);
  reserves += sender.reserve_bytes;
}

HelloOk ServerSession::Book::Welcome(const Sender& sender, const Hello& hello) const {
  HelloOk ok;
  ok.incarnation = incarnation;
  ok.resumed = resumed;
  ok.heartbeat_ms = limits.heartbeat_ms;
  ok.bytes_total = sender.bytes_granted;
  ok.announce_address = announce_address;
  ok.weights_address = weights_address;
  ok.session = sender.session;
  ok.number = hello.number;
  ok.sequence = sender.last_sequence;
  ok.kept_sequence = sender.kept_sequence;
  for (const std::uint32_t model : sender.models) {
    const Share& share = sender.shares.at(model);
    HelloOkModel welcome = pools[model].model.welcome;
    if (host != 0 && hello.host_identity != host) welcome.segment.clear();
    welcome.version = pools[model].version;
    welcome.steps_total = share.granted * welcome.trajectory_length;
    welcome.at_version = share.at_version;
    for (const Seat& seat : share.seats()) {
      welcome.agent_indices.push_back(seat.index);
      welcome.agent_seeds.push_back(DeriveSeed(seed, seat.index));
    }
    ok.models.push_back(std::move(welcome));
  }
  return ok;
}

void ServerSession::Book::Heard(Sender& sender, std::int64_t now) {
  sender.last_heard_ns = now;
  if (sender.live() || sender.cut_off()) return;
  sender.health = Sender::Health::kLive;
  Touch(sender);
  for (const std::uint32_t model : sender.models) pools[model].dirty = true;
}

/// What it has been given and has not played is given to others.
void ServerSession::Book::Stall(Sender& sender) {
  if (!sender.live()) return;
  sender.health = Sender::Health::kStalled;
  Touch(sender);
  for (const std::uint32_t model : sender.models) pools[model].dirty = true;
}

void ServerSession::Book::FreeSeats(Share& share) {
  for (const Seat& seat : share.seats()) {
    share.left_steps += seat.last_steps - seat.first_steps;
    indices.Free(seat.index);
  }
  seated -= share.seats().size();
  share.TakeSeats({});
  pools[share.model].dirty = true;
}

/// Ends the session: nothing of it is owed to anybody. What was played stays counted.
void ServerSession::Book::Leave(Sender& sender) {
  if (sender.gone()) return;
  sender.health = Sender::Health::kGone;
  sender.cut_off_ns = -1;
  peers.erase(sender.peer);
  windows -= sender.window();
  reserves -= sender.reserve_bytes;
  --present;
  sender.reserve_bytes = 0;
  sender.bytes_granted = sender.bytes_received = sender.bytes_dealt = 0;
  for (auto& [model, share] : sender.shares) {
    former_agents -= share.former.size();
    share.former.clear();
    if (former_agents + share.seats().size() <= limits.max_agents) {
      for (const Seat& seat : share.seats()) share.former[seat.number] = seat.index;
    }
    former_agents += share.former.size();
    FreeSeats(share);
    share.granted = share.received = share.settled = share.at_version = 0;
    share.idle = false;
  }
  Touch(sender);
}

void ServerSession::Book::Tick(std::int64_t now) {
  rejects.ForgetOld(now);
  std::size_t gone = 0;
  for (auto& [id, sender] : senders) {
    if (sender.gone()) {
      ++gone;
      continue;
    }
    const std::int64_t silent = now - sender.last_heard_ns;
    const bool said_all = sender.cut_off() && now - sender.cut_off_ns > kLastWordsNs;
    if (silent > (said_all ? kLastWordsNs : limits.gone_after_ns)) {
      Leave(sender);
      continue;
    }
    if (silent > limits.stalled_after_ns) Stall(sender);
    for (const std::uint32_t model : sender.models) {
      Share& share = sender.shares.at(model);
      if (share.idle || share.held() == 0 || sender.pace == Pace::kLockstep) continue;
      share.idle = now - share.progress_ns > limits.idle_after_ns;
      if (!share.idle) continue;
      pools[model].Touch(sender, &share);
      pools[model].dirty = true;
    }
  }
  if (gone > kMostGone) ForgetOldest(gone - kMostGone);
}

/// Those that have been gone longest; what they played stays counted.
void ServerSession::Book::ForgetOldest(std::size_t count) {
  std::vector<std::pair<std::int64_t, std::uint64_t>> gone;
  for (const auto& [id, sender] : senders) {
    if (sender.gone()) gone.emplace_back(sender.last_heard_ns, id);
  }
  std::sort(gone.begin(), gone.end());
  for (std::size_t i = 0; i < std::min(count, gone.size()); ++i) {
    Sender& sender = senders.at(gone[i].second);
    for (auto& [model, share] : sender.shares) {
      pools[model].Forget(&share);
      old_steps[model] += sender.Steps(share);
      old_dropped[model] += share.pinged_dropped;
      former_agents -= share.former.size();
    }
    senders.erase(gone[i].second);
  }
}

}  // namespace murmurate::wire
