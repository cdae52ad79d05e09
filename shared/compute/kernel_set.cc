#include "shared/compute/kernel_set.h"

#include <cstdlib>
#include <string_view>

namespace murmurate {
namespace {

std::string_view NameOf(KernelSet set) {
  if (set == KernelSet::kAvx512) return "avx512";
  return set == KernelSet::kAvx2 ? "avx2" : "plain";
}

KernelSet Choose() {
  const char* asked = std::getenv("MURMURATE_KERNELS");
  for (const KernelSet set : {KernelSet::kAvx512, KernelSet::kAvx2}) {
    if (!ProcessorRuns(set)) continue;
    if (asked == nullptr || *asked == '\0' || NameOf(set) == asked) return set;
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

}  // namespace murmurate
