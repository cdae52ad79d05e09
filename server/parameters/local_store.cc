#include "server/parameters/local_store.h"

#include <cmath>
#include <utility>

namespace murmurate {

LocalStore::LocalStore(std::unique_ptr<Optimizer> optimizer, double max_grad_norm)
    : optimizer_(std::move(optimizer)), max_grad_norm_(max_grad_norm) {}

double LocalStore::Step(double learning_rate, std::span<const float> gradient,
                        std::span<float> parameters) {
  const double norm = Norm(gradient);
  if (!std::isfinite(norm)) return norm;
  const bool clipped = max_grad_norm_ > 0.0 && norm > max_grad_norm_;
  optimizer_->Step(static_cast<float>(learning_rate),
                   clipped ? static_cast<float>(max_grad_norm_ / norm) : 1.0f, gradient,
                   parameters);
  optimizer_->LookAhead(parameters);
  return norm;
}

}  // namespace murmurate
