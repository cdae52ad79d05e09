#include "shared/compute/vector_avx512.h"
// The vectors come first: the source below is written over them.
#include "server/network/action_head_kernels_source.h"

namespace murmurate {

extern const ActionKernels kAvx512ActionKernels;
constinit const ActionKernels kAvx512ActionKernels = MakeActionKernels();

}  // namespace murmurate
