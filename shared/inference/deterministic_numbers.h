// The numbers of a deterministic head (ContinuousSettings::deterministic): the policy's action,
// noise added and clipped, in units of the box. The half of ActionHead that has no distribution.
//
// Log-probabilities are those of the noise: under kGaussian a density between -1 and 1, and at the
// ends, where clipping heaps what lies beyond, a probability. Pink noise counts as white: each step
// by itself has the same distribution, the steps before are not conditioned on. Without noise
// (kSample, kGreedy, sigma 0) the policy's action has the probability 1, others have 0.
#pragma once

#include <cstdint>

#include "shared/core/pink_noise.h"
#include "shared/core/random.h"
#include "shared/model/act_settings.h"
#include "shared/model/action_layout.h"

namespace murmurate {

/// `outputs`: of the part. Writes its words and returns their log-probability. `pink`: null where
/// the settings ask for white noise.
float ChooseDeterministic(const ActionPart& part, bool squashed, const float* outputs,
                          const ActSettings& settings, Random& random, PinkNoise* pink,
                          std::int32_t* action);
/// The log-probability of the words of a part.
float DeterministicLogProbability(const ActionPart& part, bool squashed, const float* outputs,
                                  const ActSettings& settings, const std::int32_t* action);
/// Draws each number from -1 to 1, all equally likely.
float UniformDeterministic(const ActionPart& part, Random& random, std::int32_t* action);

}  // namespace murmurate
