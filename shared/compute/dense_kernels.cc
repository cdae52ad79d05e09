#include "shared/compute/dense_kernels.h"

#include <cstdlib>

namespace murmurate {

extern const DenseKernels kPlainDenseKernels;
#ifdef __x86_64__
extern const DenseKernels kAvx2DenseKernels, kAvx512DenseKernels;
#endif

namespace {

KernelSet Choose() {
  const char* asked = std::getenv("MURMURATE_KERNELS");
  for (const KernelSet set : {KernelSet::kAvx512, KernelSet::kAvx2}) {
    const DenseKernels* kernels = FindDenseKernels(set);
    if (kernels == nullptr) continue;
    if (asked == nullptr || *asked == '\0' || kernels->name == asked) return set;
  }
  return KernelSet::kPlain;
}

}  // namespace

bool ProcessorRuns(KernelSet set) {
#ifdef __x86_64__
  if (set == KernelSet::kAvx512)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  if (set == KernelSet::kAvx2)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
  return set == KernelSet::kPlain;
}

KernelSet BestKernelSet() {
  static const KernelSet set = Choose();
  return set;
}

const DenseKernels& BestDenseKernels() { return *FindDenseKernels(BestKernelSet()); }

const DenseKernels* FindDenseKernels(KernelSet set) {
  if (!ProcessorRuns(set)) return nullptr;
#ifdef __x86_64__
  if (set == KernelSet::kAvx512) return &kAvx512DenseKernels;
  if (set == KernelSet::kAvx2) return &kAvx2DenseKernels;
#endif
  return &kPlainDenseKernels;
}

}  // namespace murmurate
