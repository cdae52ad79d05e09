// RandomBatch: a batch of random play for any model: every kind of input and action, episodes that
// begin, end and are cut inside trajectories, shorter trajectories, masks, states and frames.
#pragma once

#include "server/experience/training_batch.h"
#include "server/learn/algorithm_settings.h"
#include "shared/model/model_spec.h"

namespace murmurate {

/// `masks`: some choices are forbidden, where there are choices. Rewards are between -1 and 1,
/// numbers near 0.
TrainingBatch RandomBatch(const ModelSpec& spec, const AlgorithmSettings& settings,
                          std::uint64_t seed, bool masks = false);

}  // namespace murmurate
