// RemoteSettings: how a worker trains with the shards of a parameter server.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "murmurate/log.h"
#include "server/parameters/optimizer.h"
#include "server/parameters/shard.h"

namespace murmurate {

struct RemoteSettings {
  ShardSettings shard;              ///< as the shards have it
  std::string rule_text = {};       ///< what JOIN says of it; "": shard.ToText()
  std::vector<std::string> shards;  ///< their addresses, in the order of their indices
  std::uint32_t worker = 0;         ///< a number of its own among those that train together
  OptimizerSettings optimizer;      ///< the worker's, for local steps
  double max_grad_norm = 0.0;       ///< 0: never clip
  double server_rate = 0.0;         ///< of the shards' optimizer; 0: the worker's at that time
  double rate_factor = 1.0;         ///< multiplies each rate, of local steps and of pushes
  bool overlap = false;
  std::size_t retain_bytes = std::size_t{64} << 20;
  /// Blocks of a shard of this host that are as large go through shared memory (shard_segment.h):
  /// a segment for each shard, of a block, or two where they overlap. SIZE_MAX: never.
  std::size_t share_from_bytes = 1;
};

/// ShardWait names the shard that a worker waits for.
struct ShardWait {
  std::string sentence;    ///< which, and what may be done about it
  bool unreached = false;  ///< nothing has ever come from it
};

struct RemoteCallbacks {
  LogCallback log;
  std::function<void(Status)> failed;  ///< once, on the learner's thread
  /// On the learner's thread, after a second of waiting; nothing: it waits no more. May be empty.
  std::function<void(std::optional<ShardWait>)> waits = {};
};

}  // namespace murmurate
