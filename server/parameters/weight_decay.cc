#include "server/parameters/weight_decay.h"

#include <algorithm>

#include "server/parameters/apply.h"

namespace murmurate {

std::vector<SectionRange> KernelsIn(const ParameterLayout& layout, SectionRange range) {
  std::vector<SectionRange> kernels;
  for (const TensorSlot& tensor : layout.tensors) {
    if (tensor.shape.size() < 2) continue;
    const std::size_t begin = std::max(tensor.offset, range.offset);
    const std::size_t end = std::min(tensor.offset + tensor.count, range.offset + range.count);
    if (begin < end) kernels.push_back({begin - range.offset, end - begin});
  }
  return kernels;
}

void WeightDecay::Step(float learning_rate, float gradient_scale, std::span<const float> gradient,
                       std::span<float> parameters) {
  const float kept = 1 - learning_rate * decay_;
  for (const SectionRange& kernel : kernels_) {
    const std::span<float> part = parameters.subspan(kernel.offset, kernel.count);
    SetScaled(kept, part, part);
  }
  optimizer_->Step(learning_rate, gradient_scale, gradient, parameters);
}

}  // namespace murmurate
