// DeviceInput: one input of a model's networks as it lies on a device.
#pragma once

#include "server/compute/device/device_memory.h"
#include "shared/model/network_plan.h"

namespace murmurate {

struct DeviceInput {
  DeviceArray<float> numbers;  ///< [max_rows][width]
  /// Of a picture: squares of block x block pixels lie together, each line by line, as the pixels of
  /// a smaller picture with block * block times the channels. 1: pixels lie line by line.
  int block = 1;
};

/// The block that input `input` of the two networks is best laid in. Where a first convolution takes
/// steps of whole squares, and each of its windows has whole ones, it computes the same sums from
/// them with a kernel that is smaller by that factor and stride 1, for which libraries have their
/// fast algorithms. 1 where the networks that read the input do not agree.
int BlockOfPicture(const NetworkPlan& policy, const NetworkPlan& value, std::size_t input);

}  // namespace murmurate
