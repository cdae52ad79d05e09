// Where some of a model's tensors lie in a part of its block.
#pragma once

#include <vector>

#include "shared/model/parameter_layout.h"

namespace murmurate {

/// The parts in `range` of the block of the tensors that are `chosen`, from the range's start.
std::vector<SectionRange> RangesOf(const ParameterLayout& layout, SectionRange range,
                                   bool (*chosen)(const TensorSlot&));

}  // namespace murmurate
