#include "server/compute/gemm.h"

namespace murmurate {

void Gemm(const GemmCall& call) { BestDenseKernels().gemm(call); }

}  // namespace murmurate
