// The places of what is counted of labels in AlgorithmSums.
#pragma once

#include <cstddef>

namespace murmurate::label_sums {

/// Where the sums over what was learned from and what was scored begin; and their parts.
inline constexpr std::size_t kLearned = 0, kScored = 8;
enum Part : std::size_t { kWeight, kLoss, kChoices, kRight, kNumbers, kDistance };

}  // namespace murmurate::label_sums
