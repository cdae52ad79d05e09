// PassesAndTargets: makes the BatchPlan of an algorithm that has target networks and learns from
// files: passes over a batch in minibatches, as BatchPlanner makes them, and targets that move
// after every target_every-th update, counted over the whole run.
#pragma once

#include "server/learn/batch_planner.h"

namespace murmurate {

class PassesAndTargets : public BatchPlanner {
 public:
  PassesAndTargets(const ModelSpec& spec, const AlgorithmSettings& settings, std::uint64_t seed);

  const BatchPlan& Plan(const TrainingBatch& batch, const Rates& rates, std::uint64_t learned_steps,
                        double rate_factor = 1.0) override;
  void Began(std::size_t updates) override;

  void Save(const StateWriter& writer) const override;
  Status Load(const StateReader& reader) override;

 private:
  const std::uint64_t target_every_;
  std::uint64_t updates_ = 0;  ///< begun so far
};

}  // namespace murmurate
