// Elementwise work over flat blocks: the optimizer step and its norm, vectorized for the machine.
#pragma once

#include <cstdint>
#include <span>

namespace murmurate {

/// Euclidean norm, accumulated in double or by lanes (relative error below 1e-6).
float Norm(std::span<const float> values);

struct AdamSettings {
  float learning_rate = 3e-4f;
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-5f;
  float weight_decay = 0.0f;  ///< decoupled (AdamW, arXiv 1711.05101); 0: plain Adam
};

/// One step of Adam (arXiv 1412.6980) with bias correction, t = 1, 2, 3...; `gradient` is first
/// scaled by `gradient_scale` (clipping). All spans have the same size; first and second are the
/// moments.
void AdamStep(const AdamSettings& settings, std::uint64_t t, float gradient_scale,
              std::span<const float> gradient, std::span<float> first, std::span<float> second,
              std::span<float> parameters);

}  // namespace murmurate
