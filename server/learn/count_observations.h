// CountObservations: the observations that a batch was learned from, counted into the statistics
// that models normalize by.
#pragma once

#include <span>

#include "server/experience/training_batch.h"
#include "server/learn/batch_plan.h"
#include "shared/model/model_spec.h"

namespace murmurate {

/// Merges the rows of the plan's trajectories that weigh something into the statistics section of
/// `parameters`, trajectory by trajectory, where the model normalizes. Those of a replay were counted
/// when they were new.
void CountObservations(const ModelSpec& spec, const TrainingBatch& batch, const BatchPlan& plan,
                       std::span<float> parameters);

}  // namespace murmurate
