// Planner: makes the BatchPlan of each batch that a model learns from. Which rows make which update
// is an algorithm's own (AlgorithmKind::make_planner):
//
//   batch_planner.h    passes over all rows of a batch, in minibatches
//   replay_planner.h   updates of what a replay gave, in its order
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/experience/training_batch.h"
#include "server/learn/batch_plan.h"
#include "server/learn/rates.h"
#include "shared/model/state.h"

namespace murmurate {

class Planner {
 public:
  virtual ~Planner() = default;

  /// Plans a batch. `learned_steps`: where the schedules of `rates` are; `rate_factor`: times the
  /// learning rate. The plan is valid until the next.
  virtual const BatchPlan& Plan(const TrainingBatch& batch, const Rates& rates,
                                std::uint64_t learned_steps, double rate_factor) = 0;
  virtual const BatchPlan& plan() const = 0;

  /// Notes after the batch how many of its updates were begun.
  virtual void Began(std::size_t updates) = 0;

  /// Saves, between batches, what decides how the next ones are planned.
  virtual void Save(const StateWriter& writer) const = 0;
  virtual Status Load(const StateReader& reader) = 0;
};

}  // namespace murmurate
