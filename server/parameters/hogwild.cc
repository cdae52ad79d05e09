#include "server/parameters/hogwild.h"

#include <algorithm>
#include <atomic>

#include "server/parameters/apply.h"
#include "shared/core/check.h"

namespace murmurate {

HogwildParameters::HogwildParameters(std::span<const float> initial, bool locking)
    : locking_(locking), values_(initial.size()) {
  std::copy(initial.begin(), initial.end(), values_.begin());
}

void HogwildParameters::Read(std::span<float> out) const {
  MURMURATE_CHECK(out.size() == values_.size(), "room for each parameter");
  if (locking_) {
    const std::lock_guard lock(mutex_);
    std::copy(values_.begin(), values_.end(), out.begin());
    return;
  }
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = std::atomic_ref(values_[i]).load(std::memory_order_relaxed);
}

void HogwildParameters::Step(float learning_rate, float gradient_scale,
                             std::span<const float> gradient) {
  MURMURATE_CHECK(gradient.size() == values_.size(), "a gradient for each parameter");
  if (locking_) {
    const std::lock_guard lock(mutex_);
    SgdStep({learning_rate, gradient_scale}, gradient, values_);
    return;
  }
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const float step = learning_rate * (gradient_scale * gradient[i]);
    if (step != 0.0f) std::atomic_ref(values_[i]).fetch_sub(step, std::memory_order_relaxed);
  }
}

}  // namespace murmurate
