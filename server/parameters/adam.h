// Adam: the optimizer and its state (first and second moments, number of steps taken).
//
// The state belongs to this object alone; it is part of a checkpoint, never of what is published.
#pragma once

#include <cstdint>
#include <span>

#include "shared/compute/vector_math.h"
#include "shared/core/aligned_floats.h"
#include "shared/model/state.h"

namespace murmurate {

class Adam {
 public:
  /// For `count` parameters: policy and critic sections, padding included (it is zero and stays
  /// zero).
  explicit Adam(std::size_t count) : first_(count), second_(count) {}

  /// One step along -gradient_scale * gradient. Allocates nothing.
  void Step(const AdamSettings& settings, float gradient_scale, std::span<const float> gradient,
            std::span<float> parameters);

  void Save(const StateWriter& writer) const;
  /// On failure some of it may have changed: do not step.
  Status Load(const StateReader& reader);

  std::uint64_t steps() const { return steps_; }
  std::span<const float> first() const { return first_; }
  std::span<const float> second() const { return second_; }

 private:
  AlignedFloats first_, second_;
  std::uint64_t steps_ = 0;
};

}  // namespace murmurate
