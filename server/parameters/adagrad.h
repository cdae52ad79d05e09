// Adagrad: the server side of Downpour (Dean et al., NIPS 2012), a rate for each parameter j:
//
//   x_j <- x_j - eta a_j / (sqrt(sum_l a_{j,l}^2) + epsilon)
//
// over all contributions a so far. Epsilon stands outside the root, as PyTorch's does; without it a
// parameter that never moved would be 0/0.
#pragma once

#include "server/parameters/optimizer.h"
#include "shared/core/aligned_floats.h"

namespace murmurate {

class Adagrad : public Optimizer {
 public:
  Adagrad(const AdagradSettings& settings, std::size_t count) : settings_(settings), sum_(count) {}

  void Step(float learning_rate, float gradient_scale, std::span<const float> gradient,
            std::span<float> parameters) override;
  std::uint64_t steps() const override { return steps_; }
  void Save(const StateWriter& writer) const override;
  Status Load(const StateReader& reader) override;

  std::span<const float> sum() const { return sum_; }

 private:
  AdagradSettings settings_;
  AlignedFloats sum_;
  std::uint64_t steps_ = 0;
};

}  // namespace murmurate
