// OrderSlots: the trajectories of a batch that are learned from, in one order whatever order they
// arrived in: what makes the same experience give the same bits.
#pragma once

#include <vector>

#include "server/experience/training_batch.h"

namespace murmurate {

/// The slots with steps and weight, by (agent, first step). Allocates only what `slots` lacks.
void OrderSlots(const TrainingBatch& batch, std::vector<int>* slots);

}  // namespace murmurate
