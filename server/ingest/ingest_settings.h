// ServerSettings and AssemblySettings: what [server] says of those who connect, and what
// [algorithm] says of how a model's batches come together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/ingest/batch_sizing.h"

namespace murmurate {

template <typename S>
class Keys;

struct ServerSettings {
  std::vector<std::string> listen{"tcp://127.0.0.1:7420", "ipc"};
  std::string shm = "auto";  ///< "auto", "on", "off"
  std::uint64_t ingest_budget_bytes = 256 << 20;
  int max_actors = 4096;
  bool insecure = false;
};

const Keys<ServerSettings>& ServerKeys();

struct AssemblySettings {
  double max_trajectory_s = 5.0;
  double max_batch_s = 10.0;
  int batches_ahead = 2;  ///< experience granted at once: the batch in training and those after it
  /// Agents play a newer version from the next step on, not only from the next trajectory.
  bool newest_weights = true;
  /// Trajectory length and batch that the config does not set follow the agents that play.
  bool fit_to_agents = true;
  BatchSizing sizing = {};  ///< what that may change
  double quorum = 1.0;      ///< of live agents, where batches are of the current version only
};

const Keys<AssemblySettings>& AssemblyKeys();

}  // namespace murmurate
