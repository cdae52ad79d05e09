#include "shared/compute/vector_plain.h"
// The vectors come first: the source below is written over them.
#include "server/compute/learner_kernels_source.h"

namespace murmurate {

extern const LearnerKernels kPlainLearnerKernels;
constinit const LearnerKernels kPlainLearnerKernels = MakeLearnerKernels();

}  // namespace murmurate
