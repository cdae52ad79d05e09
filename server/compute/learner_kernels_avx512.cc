#include "shared/compute/vector_avx512.h"
// The vectors come first: the source below is written over them.
#include "server/compute/learner_kernels_source.h"

namespace murmurate {

extern const LearnerKernels kAvx512LearnerKernels;
constinit const LearnerKernels kAvx512LearnerKernels = MakeLearnerKernels();

}  // namespace murmurate
