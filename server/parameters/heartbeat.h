// Heartbeat: the thread `mmr-alive`, which tells the shards twice a second that this worker lives,
// and whether it has waited for experience for 2 s.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "murmurate/status.h"
#include "shared/core/loop.h"
#include "shared/transport/socket.h"

namespace murmurate {

class Heartbeat {
 public:
  /// `sender`: the worker's random number.
  explicit Heartbeat(std::uint64_t sender) : sender_(sender) {}

  /// Adds one shard, before Start.
  Status AddShard(SocketContext& context, const std::string& address);
  void Start();
  void Stop() { loop_.reset(); }

  // ---- The learner's thread ----

  /// The worker waits for experience from now on.
  void BeginWait();
  /// The worker learns from now on.
  void EndWait();
  /// A wait that was so long that the shards were told of it has ended since the last call: rounds
  /// went on without this worker.
  bool PopLongWait();

 private:
  void Tell();

  const std::uint64_t sender_;
  WakeSignal wake_;
  std::vector<Socket> sockets_;
  std::atomic<std::int64_t> waiting_since_ns_{0};  ///< 0: it learns
  bool waited_long_ = false;
  std::unique_ptr<Loop> loop_;  ///< last: its thread uses the sockets above
};

}  // namespace murmurate
