#include "shared/compute/layer_kernels.h"

namespace murmurate {

extern const LayerKernels kPlainLayerKernels;
#ifdef __x86_64__
extern const LayerKernels kAvx2LayerKernels, kAvx512LayerKernels;
#endif

const LayerKernels* FindLayerKernels(KernelSet set) {
  if (!ProcessorRuns(set)) return nullptr;
#ifdef __x86_64__
  if (set == KernelSet::kAvx512) return &kAvx512LayerKernels;
  if (set == KernelSet::kAvx2) return &kAvx2LayerKernels;
#endif
  return &kPlainLayerKernels;
}

const LayerKernels& BestLayerKernels() { return *FindLayerKernels(BestKernelSet()); }

}  // namespace murmurate
