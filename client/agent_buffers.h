// AgentBuffers: all the memory an agent needs for one spec and one trajectory length. Made by
// mmr-client, kept until the agent dies: the game's thread neither allocates nor frees. What all
// agents of a model have alike is their AgentShape.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "client/agent_memory.h"
#include "client/agent_shape.h"
#include "client/trajectory_ring.h"

namespace murmurate {

struct AgentBuffers {
  /// Room for the rows of a group that one pass of the policy takes, at most 64.
  struct Together {
    std::size_t rows;
    AlignedFloats seen, states, outputs;
  };

  std::shared_ptr<const AgentShape> shape;
  std::shared_ptr<PolicySet> policies;   ///< the shape's
  std::shared_ptr<TrajectoryRing> ring;  ///< null: nothing is recorded
  // Shared by an agent's buffers of one shape, of which its thread uses one at a time.
  std::shared_ptr<AgentMemory> memory;
  std::shared_ptr<AlignedFloats> floats;  ///< of the four that follow
  std::span<float> outputs;               ///< of the last step
  std::span<float> deviations;            ///< the free log deviations it was played with
  std::span<float> row;                   ///< of RowWriter; empty: the game's row will do
  std::span<float> scratch;               ///< of the policy, for as many rows as go together
  std::shared_ptr<Together> together;     ///< null: one row at a time
  bool reseed = false;
  std::uint64_t seed = 0;
};

/// `rows`: of the group the agent leads, or 1. `pool`: of the shape's spec; null: nothing is
/// recorded. `current`: what the agent has, or null.
std::unique_ptr<AgentBuffers> MakeAgentBuffers(std::shared_ptr<const AgentShape> shape, int rows,
                                               const std::shared_ptr<BlockPool>& pool,
                                               const AgentBuffers* current = nullptr);

/// Whether `next` has another T than `current` (which may be null) and is the same otherwise.
inline bool OnlyLengthDiffers(const AgentBuffers* current, const AgentBuffers& next) {
  return current != nullptr && current->shape == next.shape && current->ring != nullptr &&
         next.ring != nullptr;
}

}  // namespace murmurate
