// Orthonormal vectors drawn uniformly (Haar measure), the same on every machine; inside
// server/network only.
#pragma once

#include <vector>

#include "shared/compute/dense_kernels.h"
#include "shared/core/random.h"
#include "shared/core/thread_team.h"

namespace murmurate {

/// `count` orthonormal vectors of length n >= count, row by row: Gram-Schmidt over Gaussian
/// vectors, in double, with every sum in a fixed order. Vectors are made orthogonal to those before
/// them 32 at a time, so that most of the work is matrix products, and those products are made for
/// 256 of them together. (A condition number of 1e5, rare, leaves errors of 1e-6.) Every
/// instruction set and every size of `team` gives the same bits, the wider and larger ones sooner.
std::vector<double> OrthonormalVectors(int count, int n, Random& random, ThreadTeam& team,
                                       KernelSet set = BestKernelSet());

}  // namespace murmurate
