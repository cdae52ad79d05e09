// AgentGear: all the memory an agent needs for one spec and one trajectory length. Made by
// mmr-client, kept until the agent dies: the game's thread neither allocates nor frees.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "client/agent_memory.h"
#include "client/policy_set.h"
#include "client/trajectory_ring.h"
#include "shared/network/action_head.h"

namespace murmurate {

struct AgentGear {
  /// Room for the rows of a group that one pass of the policy takes, at most 64.
  struct Together {
    std::size_t rows;
    AlignedFloats seen, states, outputs;
  };

  std::shared_ptr<PolicySet> policies;   ///< never null; may be empty: no weights yet
  std::shared_ptr<TrajectoryRing> ring;  ///< null: nothing is recorded
  std::vector<EpisodeRecord> episodes;   ///< finished ones wait here for a block
  ActionHead head;
  std::unique_ptr<AgentMemory> memory;
  AlignedFloats outputs;     ///< of the last step
  AlignedFloats deviations;  ///< the free log deviations it was played with
  AlignedFloats scratch;     ///< of the policy, for `together.rows` rows
  Together together;         ///< used when the agent leads a group
  bool reseed = false;
  std::uint64_t seed = 0;
};

/// `rows`: of the group the agent leads, or 1. `trajectory_length` 0: nothing is recorded.
std::unique_ptr<AgentGear> MakeGear(std::shared_ptr<PolicySet> policies, int rows,
                                    int trajectory_length);

}  // namespace murmurate
