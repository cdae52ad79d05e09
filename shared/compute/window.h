// Window: how a rectangle slides over a picture: the geometry of convolution and pooling. Pictures
// are NHWC: [images][height][width][channels], contiguous.
#pragma once

namespace murmurate {

struct Extent {
  int height = 1, width = 1;
};

/// A Window is a convolution's or pool's geometry, with PyTorch's meaning: `padding` rows and
/// columns surround the picture on both sides (zeros for a convolution, minus infinity for a pool),
/// and the rectangle starts at multiples of the stride for as long as it fits.
struct Window {
  int height = 0, width = 0, channels = 0;  ///< of one input picture
  Extent kernel, stride, padding{0, 0};
};

/// floor((size + 2 padding - kernel) / stride) + 1 on each axis; {0, 0} when the kernel does not
/// fit or a number makes no sense.
Extent OutputExtent(const Window& window);

}  // namespace murmurate
