// Gemm: the learner's matrix product (GemmCall says what it computes), on the calling thread alone.
//
// Two implementations, each where it is the faster: our own kernel (dense_kernels.h), and oneDNN's
// dnnl_sgemm for products at least 512 columns wide, when the build found libdnnl. Share of one Zen
// 4 core's peak of fused multiply-adds (118 GFLOP/s), own / dnnl_sgemm 2.6.3, one thread:
//   rows x columns x depth   64x64x64     0.96 / 0.75     (transposed A: 0.95 / 0.84)
//                            1024x64x64   0.96 / 0.88     1024x256x256   0.98 / 0.96
//   whole training step, minibatch 1024, two hidden layers of
//                            64 units     0.81 / 0.74     256            0.84 / 0.84
//                            512 units    0.83 / 0.88     1024           0.75 / 0.79
// dnnl_sgemm allocates its packing buffers; our kernel allocates nothing.
#pragma once

#include "shared/compute/dense_kernels.h"

namespace murmurate {

void Gemm(const GemmCall& call);

}  // namespace murmurate
