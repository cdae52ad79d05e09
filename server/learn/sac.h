// Soft actor-critic. sac.cc: for actions of numbers, and the kind of both; discrete_sac.cc: for
// actions of choices.
#pragma once

#include <memory>

#include "server/learn/algorithm.h"

namespace murmurate {

/// `spec` has what SAC learns for actions of numbers.
std::unique_ptr<Algorithm> MakeSacOfNumbers(const ModelSpec& spec,
                                            const AlgorithmSettings& settings);
/// The same for actions of choices.
std::unique_ptr<Algorithm> MakeSacOfChoices(const ModelSpec& spec,
                                            const AlgorithmSettings& settings);

}  // namespace murmurate
