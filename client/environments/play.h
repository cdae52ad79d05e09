// PlayLoop plays environments on a client, for `murmurate actor` and `murmurate train`: the part
// that a game replaces with its own program.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "client/environments/environment.h"
#include "murmurate/client.h"

namespace murmurate {

struct PlayOptions {
  std::string environment = "cartpole";
  EnvironmentOptions options;
  std::string model = "default";
  int agents = 2;
  std::uint64_t steps = 0;  ///< of all agents together, to a round; 0: no limit
  std::uint64_t seed = 1;   ///< of the environments
  /// Asked every 256 rounds and at every episode's end: true ends the loop. May be empty.
  std::function<bool()> stop;
};

struct PlayResult {
  std::uint64_t steps = 0, episodes = 0;
  double return_sum = 0.0;  ///< of the finished episodes
};

/// Plays on one thread, all agents a step at a time, until `steps`, `stop`, or the learner said
/// goodbye for good.
Result<PlayResult> PlayLoop(Client& client, const PlayOptions& options);

}  // namespace murmurate
