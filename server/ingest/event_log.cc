#include "server/ingest/event_log.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "shared/core/clock.h"

namespace murmurate {
namespace {

constexpr std::int64_t kLookNs = kNanosecondsPerSecond / 4;
constexpr std::int64_t kForgetNs = 60 * kNanosecondsPerSecond;
constexpr std::int64_t kWaitingLineNs = 60 * kNanosecondsPerSecond;
constexpr std::int64_t kGreetingNs = 10 * kNanosecondsPerSecond;
constexpr std::size_t kMaxPeers = 4096;
constexpr std::size_t kMostTroubles = 16;  // of an actor

std::string Agents(int count) {
  return std::to_string(count) + (count == 1 ? " agent" : " agents");
}

/// The refusal's name in parentheses; none for kBusy: the sentence says why there is no room.
std::string WordFor(wire::Refusal refusal) {
  if (refusal == wire::Refusal::kBusy) return "";
  return " (" + std::string(wire::RefusalName(refusal)) + ")";
}

}  // namespace

std::string SecondsInWords(std::int64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", static_cast<double>(ns) * 1e-9);
  return text;
}

EventLog::Peer& EventLog::Find(const std::string& peer, std::int64_t now_ns) {
  if (peers_.size() >= kMaxPeers && !peers_.contains(peer)) {
    std::erase_if(peers_,
                  [&](const auto& entry) { return now_ns - entry.second.last_ns > kForgetNs; });
    if (peers_.size() >= kMaxPeers) peers_.clear();
  }
  Peer& found = peers_[peer];
  found.last_ns = now_ns;
  return found;
}

void EventLog::Name(const std::string& peer, const std::string& actor, std::int64_t now_ns) {
  if (!log_) return;
  Peer& found = Find(peer, now_ns);
  found.name = actor;
  found.unknown_since_ns = -1;
}

bool EventLog::IsGreeting(const wire::Error& error, Peer* peer, std::int64_t now_ns) {
  if (error.refusal != wire::Refusal::kNotRegistered) return false;
  if (peer->unknown_since_ns < 0) peer->unknown_since_ns = now_ns;
  return now_ns - peer->unknown_since_ns < kGreetingNs;
}

void EventLog::NoteReply(const wire::ServerSession::Reply& reply, std::int64_t now_ns) {
  const auto* error = std::get_if<wire::Error>(&reply.body);
  if (error == nullptr || !log_) return;
  Peer& peer = Find(reply.peer, now_ns);
  if (IsGreeting(*error, &peer, now_ns)) return;
  if (now_ns < peer.next_line_ns) {
    ++peer.held_back;
    return;
  }
  std::string line = peer.name.empty() ? "a connection without a name" : "actor " + peer.name;
  line += " was refused" + WordFor(error->refusal) + ": " + error->sentence;
  if (peer.held_back > 0) line += " (and " + std::to_string(peer.held_back) + " more)";
  log_(LogLevel::kWarning, line);
  peer.held_back = 0;
  peer.next_line_ns = now_ns + kNanosecondsPerSecond;
}

void EventLog::NoteChange(const Actor& known, const wire::ServerSession::ActorReport& now) {
  const std::string subject = "actor " + now.name;
  if (!known.seen) {
    if (now.health == Health::kGone) return;
    log_(LogLevel::kInfo, subject + " joined with " + Agents(now.agents));
  } else if (known.health == now.health) {
    return;
  } else if (now.health == Health::kLive) {
    log_(LogLevel::kInfo, subject + " is heard again");
  } else if (now.health == Health::kStalled) {
    log_(LogLevel::kWarning, subject + " is silent for " + SecondsInWords(now.silent_ns) +
                                 "; its share goes to the others");
  } else {
    log_(LogLevel::kInfo, subject + " left");
  }
}

/// Each sentence once: its numbers change with every report.
void EventLog::NoteTroubles(Actor* known, const wire::ServerSession::ActorReport& now) {
  for (const auto& trouble : now.troubles) {
    std::string kind = trouble.model + ' ' + trouble.sentence;
    std::erase_if(kind, [](char c) { return c >= '0' && c <= '9'; });
    if (known->troubles.size() >= kMostTroubles) return;
    if (!known->troubles.insert(std::move(kind)).second) continue;
    log_(LogLevel::kWarning, "actor " + now.name + ", " + trouble.Words());
  }
}

void EventLog::NoteActors(const std::vector<wire::ServerSession::ActorReport>& actors,
                          std::int64_t now_ns) {
  next_look_ns_ = now_ns + kLookNs;
  std::map<std::uint64_t, Actor> seen;
  for (const auto& actor : actors) {
    const auto known = actors_.find(actor.sender);
    Actor now = known == actors_.end() ? Actor{} : known->second;
    NoteChange(now, actor);
    NoteTroubles(&now, actor);
    seen[actor.sender] = {actor.name, actor.health, true, std::move(now.troubles)};
    if (known != actors_.end()) actors_.erase(known);
  }
  for (const auto& [sender, actor] : actors_) {
    if (actor.health != Health::kGone) log_(LogLevel::kInfo, "actor " + actor.name + " left");
  }
  actors_ = std::move(seen);
}

void EventLog::NoteWaiting(const std::string& model, const std::string& sentence,
                           std::int64_t now_ns) {
  if (sentence.empty() || !log_) return;
  std::int64_t& next_ns = next_waiting_line_ns_[model];
  if (now_ns < next_ns) return;
  log_(LogLevel::kInfo, sentence);
  next_ns = now_ns + kWaitingLineNs;
}

}  // namespace murmurate
