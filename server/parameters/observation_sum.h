// The statistics of the observations that several workers saw, as if one had seen them all.
#pragma once

#include <span>
#include <vector>

#include "shared/model/model_spec.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {

/// Merges statistics sections (count, mean and variance as ParameterLayout has them) by Chan's
/// formula (Chan, Golub, LeVeque 1979), in the order given, in double: M2 is variance times count.
/// A part that has seen nothing counts for nothing; when none has seen anything: count 0, mean 0,
/// variance 1. `sum`, as long as each part, may be one of the parts.
void SumObservations(const ParameterLayout& layout, std::span<const std::span<const float>> parts,
                     std::span<float> sum);

}  // namespace murmurate
