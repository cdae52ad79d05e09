#include "server/parameters/local_store.h"

#include <cmath>

namespace murmurate {

LocalStore::LocalStore(std::size_t count, const AdamSettings& settings, double max_grad_norm)
    : adam_(count), settings_(settings), max_grad_norm_(max_grad_norm) {}

double LocalStore::Step(double learning_rate, std::span<const float> gradient,
                        std::span<float> parameters) {
  const double norm = Norm(gradient);
  if (!std::isfinite(norm)) return norm;
  const bool clipped = max_grad_norm_ > 0.0 && norm > max_grad_norm_;
  settings_.learning_rate = static_cast<float>(learning_rate);
  adam_.Step(settings_, clipped ? static_cast<float>(max_grad_norm_ / norm) : 1.0f, gradient,
             parameters);
  return norm;
}

}  // namespace murmurate
