#include "shared/compute/vector_plain.h"
// The vectors come first: the source below is written over them.
#include "server/network/action_head_kernels_source.h"

namespace murmurate {

extern const ActionKernels kPlainActionKernels;
constinit const ActionKernels kPlainActionKernels = MakeActionKernels();

}  // namespace murmurate
