// Momentum: Nesterov's, as EAMSGD has it (Zhang, Choromanska, LeCun, NIPS 2015, Algorithm 2):
//
//   v <- delta v - eta g(x + delta v),   x <- x + v
//
// Whoever computes gradients sees the look-ahead y = x + delta v. So that nobody holds x and y
// both, a step has two halves, in the order of the authors' code (mpiT, optim-eamsgd.lua):
//
//   Step       x <- y - eta g,  v <- v - eta g     v was delta v since the last LookAhead
//              (an exchange with the center acts on this x)
//   LookAhead  v <- delta v,    y <- x + v
//
// With delta = 0 both give the bits of Sgd. What is published and kept in checkpoints is y, with v
// as it is after LookAhead.
#pragma once

#include "server/parameters/optimizer.h"
#include "shared/core/aligned_floats.h"

namespace murmurate {

class Momentum : public Optimizer {
 public:
  Momentum(const MomentumSettings& settings, std::size_t count)
      : settings_(settings), velocity_(count) {}

  void Step(float learning_rate, float gradient_scale, std::span<const float> gradient,
            std::span<float> parameters) override;
  void LookAhead(std::span<float> parameters) override;
  std::uint64_t steps() const override { return steps_; }
  void Save(const StateWriter& writer) const override;
  Status Load(const StateReader& reader) override;

  std::span<const float> velocity() const { return velocity_; }

 private:
  MomentumSettings settings_;
  AlignedFloats velocity_;
  std::uint64_t steps_ = 0;
};

}  // namespace murmurate
