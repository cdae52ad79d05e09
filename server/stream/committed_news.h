// CommittedNews: what the newest checkpoint holds of all devices, and which peer of a SampleServer
// has been told of which: one that comes is told all, later only what it sent last itself.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "server/stream/sample_socket.h"
#include "server/stream/stream_mailbox.h"

namespace murmurate {

class SamplePeers;

class CommittedNews {
 public:
  /// Telling is how far one peer has been told.
  struct Telling {
    bool greeting = false;             ///< is being told all of it
    std::vector<std::size_t> to_tell;  ///< otherwise: indices of it
    std::size_t told = 0;              ///< of these
  };

  /// So many devices may be there.
  explicit CommittedNews(std::size_t max_devices) : max_devices_(max_devices) {}

  /// The peer has sent of this device. One that sends again what is known waits for the word that
  /// it is committed as well.
  void Own(const std::string& device, const PeerId& peer);
  /// The peers to tell of it are those that last sent of its devices.
  void Commit(CommittedSequences committed, SamplePeers* peers);
  /// A peer has come, and is told all.
  void Greet(Telling* telling);
  /// Tells a peer as much as fits in a round. False: it is gone.
  bool TellSome(const PeerId& peer, Telling* telling, SampleSocket* socket);

  /// Something waits to be told that no message would remind us of.
  bool waiting() const { return waiting_; }
  /// A round of TellSome begins, after which the rest waits.
  void BeginRound() { waiting_ = false; }

 private:
  const std::size_t max_devices_;
  CommittedSequences committed_;
  std::unordered_map<std::string, PeerId> owners_;  ///< which peer last sent of a device
  bool waiting_ = false;
};

}  // namespace murmurate
