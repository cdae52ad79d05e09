// OrderPlaces: the trajectories of a batch that are learned from, in one order whatever order they
// arrived in: what makes the same experience give the same bits.
#pragma once

#include <vector>

#include "server/experience/training_batch.h"

namespace murmurate {

/// Those with steps and weight, by (agent, first step). Allocates only what `places` lacks.
void OrderPlaces(const TrainingBatch& batch, std::vector<int>* places);

}  // namespace murmurate
