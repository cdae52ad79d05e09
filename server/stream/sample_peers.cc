#include "server/stream/sample_peers.h"

#include <algorithm>

namespace murmurate {

SamplePeer* SamplePeers::Find(const PeerId& id) {
  const auto found = peers_.find(id);
  return found == peers_.end() ? nullptr : &found->second;
}

SamplePeer* SamplePeers::Begin(const PeerId& id, std::int64_t now_ns) {
  if (peers_.size() >= most_ && !peers_.contains(id)) {
    const auto silent = std::ranges::min_element(
        peers_, {}, [](const auto& entry) { return entry.second.heard_ns; });
    if (now_ns - silent->second.heard_ns < room_ns_) return nullptr;
    peers_.erase(silent);
  }
  SamplePeer& peer = peers_[id];
  peer = {};
  peer.session = ++sessions_;
  peer.heard_ns = now_ns;
  return &peer;
}

void SamplePeers::EraseSilent(std::int64_t now_ns, std::int64_t silent_ns) {
  std::erase_if(peers_, [now_ns, silent_ns](const auto& entry) {
    return now_ns - entry.second.heard_ns >= silent_ns;
  });
}

}  // namespace murmurate
