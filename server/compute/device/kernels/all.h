// Every kernel of kernel_list.h.
#pragma once

#include "server/compute/device/kernels/control.h"
#include "server/compute/device/kernels/layers.h"
#include "server/compute/device/kernels/transpose.h"
