#include "shared/compute/vector_avx2.h"
// The vectors come first: the source below is written over them.
#include "server/network/action_head_kernels_source.h"

namespace murmurate {

extern const ActionKernels kAvx2ActionKernels;
constinit const ActionKernels kAvx2ActionKernels = MakeActionKernels();

}  // namespace murmurate
