#include "server/compute/learner_kernels.h"

namespace murmurate {

extern const LearnerKernels kPlainLearnerKernels;
#ifdef __x86_64__
extern const LearnerKernels kAvx2LearnerKernels, kAvx512LearnerKernels;
#endif

const LearnerKernels* FindLearnerKernels(KernelSet set) {
  if (!ProcessorRuns(set)) return nullptr;
#ifdef __x86_64__
  if (set == KernelSet::kAvx512) return &kAvx512LearnerKernels;
  if (set == KernelSet::kAvx2) return &kAvx2LearnerKernels;
#endif
  return &kPlainLearnerKernels;
}

const LearnerKernels& BestLearnerKernels() { return *FindLearnerKernels(BestKernelSet()); }

}  // namespace murmurate
