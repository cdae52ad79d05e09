// LearnerKernels: what vector_math.h computes, once for each instruction set
// (learner_kernels_source.h). Apart from DenseKernels, because the client does not need them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shared/compute/dense_kernels.h"

namespace murmurate {

/// m += keep1 (g - m), v += keep2 (g^2 - v) with g scaled; p -= step m / (root sqrt(v) + epsilon).
struct AdamFactors {
  float gradient_scale, keep1, keep2, step, root, epsilon;
};

/// v += keep (g^2 - v) with g scaled; p -= step g / sqrt(v + epsilon).
struct RmsPropFactors {
  float gradient_scale, keep, step, epsilon;
};

struct LearnerKernels {
  static const LearnerKernels kPlain, kAvx2, kAvx512;

  /// Sum of squares, by lanes, each lane of 4096 numbers added to a double.
  double (*sum_of_squares)(std::size_t count, const float* values);
  void (*adam)(const AdamFactors& factors, std::size_t count, const float* gradient, float* first,
               float* second, float* parameters);
  void (*rmsprop)(const RmsPropFactors& factors, std::size_t count, const float* gradient,
                  float* square, float* parameters);
};

}  // namespace murmurate
