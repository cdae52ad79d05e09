#include "shared/compute/vector_avx2.h"
// The vectors come first: the source below is written over them.
#include "server/compute/learner_kernels_source.h"

namespace murmurate {

extern const LearnerKernels kAvx2LearnerKernels;
constinit const LearnerKernels kAvx2LearnerKernels = MakeLearnerKernels();

}  // namespace murmurate
