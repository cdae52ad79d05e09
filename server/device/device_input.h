// DeviceInput: one input of a model's networks as it lies on a device.
#pragma once

#include "server/device/device_block.h"
#include "shared/model/network_plan.h"

namespace murmurate {

struct DeviceInput {
  /// [max_rows][width]. Where it is of bf16, so is all that its encoders make of it, up to where they
  /// flatten it.
  DeviceBlock numbers;
  /// Of a picture: squares of block x block pixels lie together, each line by line, as the pixels of
  /// a smaller picture with block * block times the channels. 1: pixels lie line by line.
  int block = 1;
};

/// The block that input `input` of the two networks is best laid in. Where a first convolution takes
/// steps of whole squares, and each of its windows has whole ones, it computes the same sums from
/// them with a kernel that is smaller by that factor and stride 1, for which libraries have their
/// fast algorithms. 1 where the networks that read the input do not agree.
int BlockOfPicture(const NetworkPlan& policy, const NetworkPlan& value, std::size_t input);

/// The type that input `input` of the two networks has on a device that keeps pictures as `pictures`:
/// that one where every network that reads the input has convolutions for it and then flattens it.
ElementType TypeOfInput(const NetworkPlan& policy, const NetworkPlan& value, std::size_t input,
                        ElementType pictures);

}  // namespace murmurate
