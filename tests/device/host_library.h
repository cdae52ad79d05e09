// The products and convolutions of a HostDevice, by the learner's own functions.
#pragma once

#include "server/compute/device/device.h"

namespace murmurate {

void HostMultiply(const ProductCall& call);
void HostConvolve(const ConvolutionCall& call);

/// The numbers of each operand, from the first to the last one that the call reads or writes.
struct ProductExtents {
  std::size_t a, b, c;
};
ProductExtents ExtentsOf(const ProductCall& call);
struct ConvolutionExtents {
  std::size_t input, weight, output;
};
ConvolutionExtents ExtentsOf(const ConvolutionCall& call);

}  // namespace murmurate
