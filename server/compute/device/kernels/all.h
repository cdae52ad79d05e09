// Every kernel of kernel_list.h.
#pragma once

#include "server/compute/device/kernels/column_sums.h"
#include "server/compute/device/kernels/gather.h"
#include "server/compute/device/kernels/head.h"
#include "server/compute/device/kernels/layer_norm.h"
#include "server/compute/device/kernels/layers.h"
#include "server/compute/device/kernels/loss.h"
#include "server/compute/device/kernels/max_pool.h"
#include "server/compute/device/kernels/observation_statistics.h"
#include "server/compute/device/kernels/optimizer.h"
#include "server/compute/device/kernels/picture_blocks.h"
#include "server/compute/device/kernels/ranks.h"
#include "server/compute/device/kernels/recurrent.h"
#include "server/compute/device/kernels/replay.h"
#include "server/compute/device/kernels/returns.h"
#include "server/compute/device/kernels/small_network.h"
#include "server/compute/device/kernels/transpose.h"
