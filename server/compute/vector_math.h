// Elementwise work over flat blocks: the optimizer step and its norm, vectorized for the machine.
#pragma once

#include <cstdint>
#include <span>

namespace murmurate {

/// Euclidean norm, accumulated in double or by lanes (relative error below 1e-6).
float Norm(std::span<const float> values);
/// Its square, in double, for sums over several spans.
double SumOfSquares(std::span<const float> values);

struct AdamSettings {
  float learning_rate = 3e-4f;
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-5f;
};

/// One step of Adam (arXiv 1412.6980) with bias correction, t = 1, 2, 3...; `gradient` is first
/// scaled by `gradient_scale` (clipping). All spans have the same size; first and second are the
/// moments.
void AdamStep(const AdamSettings& settings, std::uint64_t t, float gradient_scale,
              std::span<const float> gradient, std::span<float> first, std::span<float> second,
              std::span<float> parameters);

struct RmsPropSettings {
  float learning_rate = 7e-4f;
  float decay = 0.99f;    ///< of the mean square
  float epsilon = 1e-5f;  ///< inside the root
};

/// One step of RMSProp as TensorFlow has it, which published A2C and IMPALA settings mean:
///   square <- decay square + (1 - decay) g^2,  p <- p - learning_rate g / sqrt(square + epsilon)
/// PyTorch's adds epsilon outside the root. `square` is to begin with ones, as TensorFlow's does
/// (zeros would make the first steps ten times as long).
void RmsPropStep(const RmsPropSettings& settings, float gradient_scale,
                 std::span<const float> gradient, std::span<float> square,
                 std::span<float> parameters);

}  // namespace murmurate
