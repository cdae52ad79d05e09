// BatchPlan: what is to be made of one batch, decided on the host before any of it is computed: the
// rows of every update, in order, and the rates. Whatever computes it (batch_trainer.h) thus sees
// the same minibatches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace murmurate {

/// One step of an optimizer.
struct PlannedUpdate {
  std::size_t first = 0, count = 0;  ///< of BatchPlan::order
  /// Bit i: the i-th network that the model trains is stepped.
  static constexpr std::uint32_t kAllNetworks = ~std::uint32_t{0};
  std::uint32_t networks = kAllNetworks;
  bool moves_targets = false;  ///< networks that follow others go towards them after it
};

struct BatchPlan {
  double learning_rate = 0;
  float clip = 0, entropy = 0;
  /// The batch is left at the first update that finds the policy further than this from the one
  /// that the batch began with (approx_kl); of one_pass, the step is shortened to it, where this
  /// learner alone steps the parameters. 0: never.
  double most_kl = 0;
  /// Of PlannedUpdate::moves_targets: how far they go, 1 being all the way.
  float target_part = 1;
  /// The seed of what an algorithm draws in the batch: update i of Random(DeriveSeed(seed, i)).
  std::uint64_t seed = 0;
  bool scores = false;  ///< the first pass is scored instead of learned from

  std::vector<int> slots;           ///< trajectories, in order of (agent, first step)
  std::vector<std::int32_t> rows;   ///< to learn from, in that order
  std::vector<std::int32_t> order;  ///< of all updates: rows; of recurrent models, slots
  std::vector<float> weights;       ///< beside `order`, times the batch's own; empty: 1
  std::vector<PlannedUpdate> updates;
  std::size_t updates_a_pass = 0;  ///< each pass visits every row once
  /// The only update is of all `rows` (or slots) in order: a pass over them before it can serve it.
  bool one_pass = false;
};

}  // namespace murmurate
