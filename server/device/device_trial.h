// Small computations on a device, each compared with the same on this processor: whether it works at
// all, as `murmurate doctor` asks. Each takes some milliseconds and leaves nothing on the device.
#pragma once

#include "murmurate/status.h"
#include "server/compute/device/device.h"

namespace murmurate {

// kResource: one sentence, which says what was wrong; the device's own when it has failed.

/// Memory, copies, a kernel, an event, and the kernel once more in a graph.
Status TryKernel(Device* device);
/// A product of 48 x 80 by 80 x 32, within 1e-2 of its largest value: any precision will do.
Status TryProduct(Device* device);
/// A convolution and its two gradients, likewise.
Status TryConvolution(Device* device);

}  // namespace murmurate
