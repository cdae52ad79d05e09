// HogwildParameters: one block of parameters that many threads of a process read and step at once
// (Recht, Re, Wright, Niu, NIPS 2011, arXiv 1106.5730): x_v <- x_v - eta [g(x^)]_v.
//
// Nobody waits for a step of the block: it is stepped in pieces of 4 KB, each under a flag of its
// own for the fraction of a microsecond that it takes. So no add is ever lost, and x^ may have
// some pieces from before another thread's step and some from after it. All threads go through the
// pieces in one order: whoever meets another follows a piece behind. (An atomic add for each
// component, as the paper has it, takes some ten times as long as a step in pieces, which are
// vectorized: for 784-64-10 as long as the gradient of 64 rows. bench_hogwild.)
//
// Locking: one mutex around each Read and each Step, so x^ is always one that some thread left.
//
// One thread alone has the bits of Sgd either way. Any thread; nothing is allocated after
// construction.
#pragma once

#include <atomic>
#include <memory>
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
  /// One step along -gradient_scale * gradient; in the same pass `seen`, if it is not empty,
  /// becomes each piece as the step left it: the next x^.
  void Step(float learning_rate, float gradient_scale, std::span<const float> gradient,
            std::span<float> seen = {});

  std::size_t size() const { return values_.size(); }

 private:
  struct alignas(64) Flag {
    std::atomic<bool> taken{false};
  };
  template <typename Visit>
  void EachPiece(Visit visit) const;

  const bool locking_;
  mutable std::mutex mutex_;
  AlignedFloats values_;
  const std::unique_ptr<Flag[]> flags_;  ///< one a piece; null when locking
};

}  // namespace murmurate
