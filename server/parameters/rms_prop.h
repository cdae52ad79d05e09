// RmsProp: the optimizer (vector_math.h has its formula) and its state (mean squares, steps taken).
#pragma once

#include "server/parameters/optimizer.h"
#include "shared/core/aligned_floats.h"

namespace murmurate {

class RmsProp : public Optimizer {
 public:
  RmsProp(const RmsPropSettings& settings, std::size_t count);

  void Step(float learning_rate, float gradient_scale, std::span<const float> gradient,
            std::span<float> parameters) override;
  std::uint64_t steps() const override { return steps_; }
  void Save(const StateWriter& writer) const override;
  Status Load(const StateReader& reader) override;

  std::span<const float> square() const { return square_; }

 private:
  RmsPropSettings settings_;
  AlignedFloats square_;
  std::uint64_t steps_ = 0;
};

}  // namespace murmurate
