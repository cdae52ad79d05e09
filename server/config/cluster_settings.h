// ClusterSettings: [cluster], which host has which part of what `murmurate cluster` starts.
#pragma once

#include <string>
#include <vector>

namespace murmurate {

template <typename S>
class Keys;

struct ClusterSettings {
  bool serve = false;  ///< learners wait for actors from outside, also where run.environment is set
  /// Hosts by name or address. Part i is on host i modulo their number; none: all on this host.
  std::vector<std::string> shard_hosts, learner_hosts;
};

const Keys<ClusterSettings>& ClusterKeys();

}  // namespace murmurate
