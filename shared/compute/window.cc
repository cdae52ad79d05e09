#include "shared/compute/window.h"

namespace murmurate {
namespace {

int Positions(int size, int kernel, int stride, int padding) {
  if (size < 1 || kernel < 1 || stride < 1 || padding < 0) return 0;
  const int room = size + 2 * padding - kernel;
  return room < 0 ? 0 : room / stride + 1;
}

}  // namespace

Extent OutputExtent(const Window& w) {
  const Extent out = {Positions(w.height, w.kernel.height, w.stride.height, w.padding.height),
                      Positions(w.width, w.kernel.width, w.stride.width, w.padding.width)};
  return out.height > 0 && out.width > 0 ? out : Extent{0, 0};
}

}  // namespace murmurate
