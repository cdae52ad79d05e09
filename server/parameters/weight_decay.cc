#include "server/parameters/weight_decay.h"

#include "server/parameters/apply.h"

namespace murmurate {

bool IsKernel(const TensorSlot& tensor) { return tensor.shape.size() >= 2; }

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
