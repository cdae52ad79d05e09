// HogwildParameters: one block of parameters that many threads of a process read and step at once,
// without a lock (Recht, Re, Wright, Niu, NIPS 2011, arXiv 1106.5730):
// x_v <- x_v - eta [g(x^)]_v, where each component's add is atomic and x^ is read while others
// step.
//
// The block lies in pieces of 4 KB that do not change once others can see them. A step writes what
// a piece becomes into a spare one and swaps the two (compare and swap of a pointer). If another
// thread's step of that piece came first, the swap is refused, and the piece is stepped again, from
// what that made of it. So no add is ever lost, and x^ has whole pieces: some from before another
// thread's step and some from after it (the paper's inconsistent read).
//
//   thread 1   holds a,  s = a - eta g       swaps a for s; a is spare once none holds it
//   a piece        a ----------------------- s ----------------------------------- t
//   thread 2   holds a,  t = a - eta g'         refused; holds s,  t = s - eta g'  swaps s for t
//
// Lock-free: a swap is refused only when another one was made, and a thread that is stopped in the
// middle of a step holds up none. It keeps others from writing over the one piece that it holds,
// and each thread has one spare more than the others can hold (hazard pointers: Michael, IEEE TPDS
// 15(6), 2004).
//
// Of n parameters and T threads: 4 n bytes and T spare pieces for each thread. A step reads n
// parameters and n components, writes n parameters and, for x^, n more, and has for each piece two
// locked instructions and T loads. (As many atomic adds as parameters, as the paper has it, take
// ten times as long, because they are not vectorized; bench_hogwild. A part for each thread that it
// alone writes, x their sum, reads T parts at each step, most of them from another processor's
// cache, and rounds worse the further the parts move apart.)
//
// Locking: one mutex around each Read and each Step, so x^ is always one that some thread left.
//
// One thread alone has the bits of Sgd either way. Any thread, each by a number of its own; nothing
// is allocated after construction.
#pragma once

#include <atomic>
#include <mutex>
#include <span>
#include <vector>

#include "server/parameters/apply.h"
#include "shared/core/aligned_floats.h"

namespace murmurate {

class HogwildParameters {
 public:
  /// Begins with a copy of `initial`, for threads 0 to `threads` - 1.
  HogwildParameters(std::span<const float> initial, int threads, bool locking);

  /// Reads x^: as many floats as `initial` had. `thread`: no other call is inside by that number.
  void Read(int thread, std::span<float> out);
  /// One step along -gradient_scale * gradient; in the same pass `seen`, if it is not empty,
  /// becomes each piece as the step left it: the next x^.
  void Step(int thread, float learning_rate, float gradient_scale, std::span<const float> gradient,
            std::span<float> seen = {});

  std::size_t size() const { return size_; }

 private:
  struct alignas(64) ThreadSlot {
    std::atomic<const float*> held{nullptr};  ///< no thread writes there meanwhile
    std::vector<float*> spares;               ///< its thread's; some may be held by others still
  };

  std::unique_lock<std::mutex> LockIfLocking();
  ThreadSlot& SlotOf(int thread);
  std::size_t CountOf(std::size_t piece) const;
  float* Hold(std::size_t piece, ThreadSlot& slot);
  float*& FreeSpare(ThreadSlot& slot);
  void StepPiece(std::size_t piece, ThreadSlot& slot, const StepFactors& factors,
                 std::span<const float> gradient, std::span<float> seen);

  const bool locking_;
  std::mutex mutex_;
  const std::size_t size_;
  AlignedFloats storage_;  ///< of all pieces, those that are spare included
  std::vector<std::atomic<float*>> pieces_;
  std::vector<ThreadSlot> slots_;
};

}  // namespace murmurate
