// ActorReport: what the learner knows of one actor, as status and logs show it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "server/metrics/staleness_histogram.h"

namespace murmurate {

/// Why play of an actor cannot be learned from, as it says itself.
struct TroubleReport {
  std::string model;
  std::uint32_t agent = 0, agents = 0;  ///< as in PingTrouble
  std::string sentence;
  /// "agent 3 of model npc: SENTENCE (the same of 7 more agents)"
  std::string Words() const;
};

struct ActorReport {
  std::string name;
  std::uint64_t sender = 0;
  enum class Health : std::uint8_t { kLive, kStalled, kGone } health = Health::kLive;
  int agents = 0;
  std::uint64_t trajectories = 0, refused = 0, steps = 0, dropped_steps = 0;
  std::int64_t silent_ns = 0, here_ns = 0;     ///< since it was last, and first, heard here
  std::uint64_t waited_ns = 0, played_ns = 0;  ///< of its agents inside Act, as it says
  StalenessHistogram staleness = {};           ///< of its trajectories as batches were begun
  std::vector<TroubleReport> troubles = {};

  bool live() const { return health == Health::kLive; }
};

/// An actor whose HELLO was refused and that asks again, as clients do every few seconds.
struct RefusedActor {
  std::string name, sentence;
  std::uint64_t sender = 0;
  std::int64_t last_ns = 0;
};

}  // namespace murmurate
