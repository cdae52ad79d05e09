// Gemm: the learner's matrix product (GemmCall says what it computes).
#pragma once

#include "shared/compute/dense_kernels.h"

namespace murmurate {

void Gemm(const GemmCall& call);

}  // namespace murmurate
