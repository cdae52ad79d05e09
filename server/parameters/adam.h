// Adam: the optimizer and its state (first and second moments, number of steps taken).
#pragma once

#include "server/parameters/optimizer.h"
#include "shared/core/aligned_floats.h"
#include "shared/model/state.h"

namespace murmurate {

class Adam : public Optimizer {
 public:
  Adam(const AdamSettings& settings, std::size_t count)
      : settings_(settings), first_(count), second_(count) {}

  void Step(float learning_rate, float gradient_scale, std::span<const float> gradient,
            std::span<float> parameters) override;
  std::uint64_t steps() const override { return steps_; }
  void Save(const StateWriter& writer) const override;
  Status Load(const StateReader& reader) override;

  std::span<const float> first() const { return first_; }
  std::span<const float> second() const { return second_; }

 private:
  AdamSettings settings_;
  AlignedFloats first_, second_;
  std::uint64_t steps_ = 0;
};

}  // namespace murmurate
