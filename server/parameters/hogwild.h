// HogwildParameters: one block of parameters that many threads of a process read and step at once
// (Recht, Re, Wright, Niu, NIPS 2011, arXiv 1106.5730): x_v <- x_v - eta [g(x^)]_v.
//
// Lock-free: each component is added to atomically and on its own, so no add is ever lost, and x^
// may have some components from before another thread's step and some from after it. What a
// component adds where g_v is 0 is left out, so threads whose gradients touch different components
// do not disturb each other. Atomics are relaxed: they order nothing else; whoever needs to see all
// of a thread's steps joins it.
//
// Locking: one mutex around each Read and each Step, so x^ is always one that some thread left.
//
// One thread alone has the bits of Sgd either way. Any thread; nothing is allocated after
// construction.
#pragma once

#include <mutex>
#include <span>

#include "shared/core/aligned_floats.h"

namespace murmurate {

class HogwildParameters {
 public:
  /// Begins with a copy of `initial`.
  HogwildParameters(std::span<const float> initial, bool locking);

  /// x^: as many floats as `initial` had.
  void Read(std::span<float> out) const;
  /// One step along -gradient_scale * gradient.
  void Step(float learning_rate, float gradient_scale, std::span<const float> gradient);

  std::size_t size() const { return values_.size(); }

 private:
  const bool locking_;
  mutable std::mutex mutex_;
  mutable AlignedFloats values_;  ///< reached through std::atomic_ref unless locking; so mutable
};

}  // namespace murmurate
