// Gemm: the learner's matrix product (GemmCall says what it computes), on the calling thread alone:
// the fastest set of our own kernels, which allocate nothing.
//
// oneDNN's dnnl_sgemm, which allocates buffers at every call and brings an OpenMP runtime, was
// measured against it and left out. Share of one Zen 4 core's peak of fused multiply-adds (117.5
// GFLOP/s), own / dnnl_sgemm 2.6.3 for products at least 512 columns wide, one thread:
//   training step, minibatch 1024, two hidden layers of
//     256 units    0.86 / 0.84      512 units    0.86 / 0.85      1024 units   0.78 / 0.80
//   Nature-CNN's training step, batch 256        0.79 / 0.79 (0.77 to 0.80 each)
//   its dense layer alone, from cold caches      forward 0.90 / 0.95, weight gradient 0.80 / 0.90
#pragma once

#include "shared/compute/dense_kernels.h"

namespace murmurate {

void Gemm(const GemmCall& call);

}  // namespace murmurate
