// BatchPlanner: makes the BatchPlan of a batch that is learned from in passes over all of its rows:
// shuffled anew for each, and cut into minibatches of nearly equal size (of recurrent models, whole
// trajectories). Rows are ordered by (agent, first step) before the first pass, so the same
// experience gives the same plan whatever order it arrived in.
#pragma once

#include <cstdint>
#include <vector>

#include "server/experience/training_batch.h"
#include "server/learn/algorithm_settings.h"
#include "server/learn/planner.h"
#include "shared/core/random.h"
#include "shared/model/model_spec.h"
#include "shared/model/state.h"

namespace murmurate {

/// Trajectories of a minibatch of a recurrent model; 0: rows are independent.
int LanesOf(const ModelSpec& spec, const AlgorithmSettings& settings);

class BatchPlanner : public Planner {
 public:
  BatchPlanner(const ModelSpec& spec, const AlgorithmSettings& settings, std::uint64_t seed);

  /// Plans the rows with weight > 0. A batch that is held out is scored, and what comes after it is
  /// shuffled as if there had been none. Nothing is allocated after construction.
  const BatchPlan& Plan(const TrainingBatch& batch, const Rates& rates, std::uint64_t learned_steps,
                        double rate_factor = 1.0) override;
  const BatchPlan& plan() const override { return plan_; }

  /// The next batch is shuffled as if the passes that were not begun had never been drawn.
  void Began(std::size_t updates) override;

  void Save(const StateWriter& writer) const override { writer.Words("random", random_.Saved()); }
  Status Load(const StateReader& reader) override;

 protected:
  BatchPlan& planned() { return plan_; }

 private:
  void OrderRows(const TrainingBatch& batch);
  void AddPass(std::vector<std::int32_t>& all);

  AlgorithmSettings settings_;
  int lanes_, burn_in_;
  Random random_;
  BatchPlan plan_;
  std::vector<std::int32_t> all_;  ///< rows or slots, as the last pass has them
  std::vector<Random> after_;      ///< each pass
};

}  // namespace murmurate
