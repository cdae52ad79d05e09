// SamplePeers: the peers that a SampleServer knows, at most so many: the one that was silent
// longest makes room for another, if that is room_ns or more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "server/stream/committed_news.h"

namespace murmurate {

struct SamplePeer {
  std::uint64_t sender = 0, session = 0;  ///< `session` counts all that ever began here
  std::uint64_t last_number = 0;
  std::uint32_t unanswered = 0;
  bool doubles = false;  ///< it reads FORECASTs with doubles
  std::int64_t heard_ns = 0;
  CommittedNews::Telling telling;
};

class SamplePeers {
 public:
  using Peers = std::unordered_map<PeerId, SamplePeer>;

  SamplePeers(std::size_t most, std::int64_t room_ns) : most_(most), room_ns_(room_ns) {}

  /// Null: it is not known.
  SamplePeer* Find(const PeerId& id);
  /// A session begins, of a known peer or another; null: there is no room.
  SamplePeer* Begin(const PeerId& id, std::int64_t now_ns);
  void Erase(const PeerId& id) { peers_.erase(id); }
  /// Whom nothing has been heard of for so long.
  void EraseSilent(std::int64_t now_ns, std::int64_t silent_ns);
  Peers& all() { return peers_; }
  const Peers& all() const { return peers_; }

 private:
  const std::size_t most_;
  const std::int64_t room_ns_;
  Peers peers_;
  std::uint64_t sessions_ = 0;
};

}  // namespace murmurate
