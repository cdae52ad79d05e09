#include "server/compute/layer_gradient_kernels.h"

namespace murmurate {

extern const LayerGradientKernels kPlainLayerGradientKernels;
#ifdef __x86_64__
extern const LayerGradientKernels kAvx2LayerGradientKernels, kAvx512LayerGradientKernels;
#endif

const LayerGradientKernels* FindLayerGradientKernels(KernelSet set) {
  if (!ProcessorRuns(set)) return nullptr;
#ifdef __x86_64__
  if (set == KernelSet::kAvx512) return &kAvx512LayerGradientKernels;
  if (set == KernelSet::kAvx2) return &kAvx2LayerGradientKernels;
#endif
  return &kPlainLayerGradientKernels;
}

const LayerGradientKernels& BestLayerGradientKernels() {
  return *FindLayerGradientKernels(BestKernelSet());
}

}  // namespace murmurate
