#include "tests/device/host_kernels.h"

#include "server/compute/device/kernels/all.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

#define MURMURATE_LISTED_KERNEL(Name) MURMURATE_HOST_KERNEL(Name),
const HostKernel kHostKernels[] = {MURMURATE_DEVICE_KERNELS(MURMURATE_LISTED_KERNEL)};
#undef MURMURATE_LISTED_KERNEL

}  // namespace

const HostKernel& HostKernelOf(KernelId kernel) {
  const auto index = static_cast<std::size_t>(kernel);
  MURMURATE_CHECK(index < std::size(kHostKernels), "the kernel is in kernel_list.h");
  return kHostKernels[index];
}

}  // namespace murmurate
