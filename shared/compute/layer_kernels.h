// LayerKernels: what convolutional and recurrent layers need beside matrix products, going forward;
// compiled from one source (layer_kernels_source.h) for AVX-512, AVX2 and plain C++ like
// DenseKernels, and shipped with the client. The operations are convolution.h, max_pool.h,
// layer_norm.h and recurrent.h: call those; they take the set as their last argument, so that the
// tests can run each. Every function is pure, allocates nothing and may run on many threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shared/compute/dense_kernels.h"

namespace murmurate {

struct PatchCall;
struct MaxPoolCall;
struct LayerNormCall;
struct CellCall;

struct LayerKernels {
  static const LayerKernels kPlain, kAvx2, kAvx512;

  const DenseKernels* dense;  ///< of the same set

  /// values[i] = epilogue(values[i]), for the gradient forms with the activation's output[i].
  void (*apply)(Epilogue epilogue, std::size_t count, const float* output, float* values);
  /// sums[i] += values[i] (a residual).
  void (*add)(std::size_t count, const float* values, float* sums);
  /// values[i] = bytes[i] / 255.
  void (*widen)(std::size_t count, const std::uint8_t* bytes, float* values);
  void (*gather_patches)(const PatchCall& call);
  void (*max_pool)(const MaxPoolCall& call);
  void (*layer_norm)(const LayerNormCall& call);
  void (*cell[2])(const CellCall& call);  ///< by RecurrentCell::index
};

}  // namespace murmurate
