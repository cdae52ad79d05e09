// WeighByAge: what the learner makes of late experience before it learns from it.
#pragma once

#include <cstdint>

#include "server/experience/training_batch.h"
#include "server/learn/learn_report.h"

namespace murmurate {

/// Gives the trajectories that are more than `max_staleness` versions old, at `version`, and those
/// of another life of the model (newer than it) the weight 0; reports ages and what it dropped.
void WeighByAge(std::uint64_t version, int max_staleness, TrainingBatch& batch,
                LearnReport* report);

}  // namespace murmurate
