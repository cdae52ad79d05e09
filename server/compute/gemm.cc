#include "server/compute/gemm.h"

namespace murmurate {

void Gemm(const GemmCall& call) { BestKernels<DenseKernels>().gemm(call); }

}  // namespace murmurate
