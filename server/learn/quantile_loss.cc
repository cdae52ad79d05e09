#include "server/learn/quantile_loss.h"

#include <algorithm>
#include <numeric>

#include "shared/core/check.h"

namespace murmurate {
namespace {

struct Quantiles {
  const float* values;
  std::size_t count;
  const float *above, *below;  ///< weights
};

/// The innermost of N^2 steps: no block overlaps another, so that they are computed in vectors.
void AddTarget(const Quantiles& of, float target, float* __restrict d_values,
               float* __restrict losses) {
  const float* __restrict values = of.values;
  const float* __restrict above = of.above;
  const float* __restrict below = of.below;
  for (std::size_t i = 0; i < of.count; ++i) {
    const float error = target - values[i];
    const float over = std::min(std::max(error, 0.0f), 1.0f);
    const float under = std::max(std::min(error, 0.0f), -1.0f);
    const float weighted = above[i] * over + below[i] * under;
    d_values[i] -= weighted;
    losses[i] += weighted * (error - 0.5f * (over + under));
  }
}

}  // namespace

QuantileLoss::QuantileLoss(std::size_t quantiles) : losses_(quantiles) {
  for (std::size_t i = 0; i < quantiles; ++i) {
    const double tau =
        (2.0 * static_cast<double>(i) + 1.0) / (2.0 * static_cast<double>(quantiles));
    above_.push_back(static_cast<float>(2.0 * tau));
    below_.push_back(static_cast<float>(2.0 * (1.0 - tau)));
  }
}

double QuantileLoss::Find(std::span<const float> values, std::span<const float> targets, float part,
                          float* d_values) {
  const std::size_t count = values.size();
  MURMURATE_CHECK(count == above_.size() && !targets.empty(), "N values and their targets");
  std::ranges::fill(losses_, 0.0f);
  std::fill_n(d_values, count, 0.0f);
  for (const float target : targets)
    AddTarget({values.data(), count, above_.data(), below_.data()}, target, d_values,
              losses_.data());
  const float each = part / static_cast<float>(count * targets.size());
  for (std::size_t i = 0; i < count; ++i) d_values[i] *= each;
  return std::accumulate(losses_.begin(), losses_.end(), 0.0) /
         static_cast<double>(count * targets.size());
}

}  // namespace murmurate
