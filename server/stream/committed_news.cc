#include "server/stream/committed_news.h"

#include <algorithm>
#include <utility>

#include "server/stream/sample_peers.h"

namespace murmurate {
namespace {

constexpr int kMostTold = 16;  ///< messages of one round to one peer

}  // namespace

void CommittedNews::Own(const std::string& device, const PeerId& peer) {
  if (owners_.size() > 2 * max_devices_) owners_.clear();
  owners_[device] = peer;
}

void CommittedNews::Commit(CommittedSequences committed, SamplePeers* peers) {
  committed_ = std::move(committed);
  for (auto& [id, peer] : peers->all()) {
    peer.telling.to_tell.clear();
    peer.telling.told = 0;
  }
  for (std::size_t i = 0; i < committed_.size(); ++i) {
    const auto owner = owners_.find(committed_[i].first);
    SamplePeer* const peer = owner == owners_.end() ? nullptr : peers->Find(owner->second);
    if (peer != nullptr && !peer->telling.greeting) peer->telling.to_tell.push_back(i);
  }
  waiting_ = true;
}

void CommittedNews::Greet(Telling* telling) {
  *telling = {.greeting = true, .to_tell = {}, .told = 0};
  waiting_ = true;
}

bool CommittedNews::TellSome(const PeerId& peer, Telling* telling, SampleSocket* socket) {
  for (int i = 0; i < kMostTold; ++i) {
    const std::size_t all = telling->greeting ? committed_.size() : telling->to_tell.size();
    if (telling->told == all && !telling->greeting) return true;
    wire::SamplesCommitted committed;
    const std::size_t end = std::min(telling->told + wire::kMaxCommittedDevices, all);
    for (std::size_t j = telling->told; j < end; ++j) {
      const auto& [device, sequence] = committed_[telling->greeting ? j : telling->to_tell[j]];
      committed.devices.push_back({device, sequence});
    }
    committed.complete = end == all;
    const SendOutcome outcome = socket->Send(peer, committed, 0);
    if (outcome != SendOutcome::kSent) return outcome != SendOutcome::kNoPeer;
    telling->told = end;
    if (committed.complete && std::exchange(telling->greeting, false)) telling->told = 0;
  }
  waiting_ = true;
  return true;
}

}  // namespace murmurate
