// Every kernel of server/compute/device/kernel_list.h, compiled for this processor.
#pragma once

#include "tests/device/kernel_block.h"

namespace murmurate {

const HostKernel& HostKernelOf(KernelId kernel);

}  // namespace murmurate
