// FiberRunner: runs kernels on one thread of the processor, blocks one after another. Each thread of
// a block is a fiber from where it first waits; a kernel without barriers runs as a loop.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "tests/device/fiber.h"
#include "tests/device/kernel_block.h"
#include "tests/device/shared_arrays.h"

namespace murmurate {

class FiberRunner : public KernelRunner, private KernelBlock {
 public:
  /// In which order blocks, and between barriers a block's threads, run: 0: from the first on,
  /// 1: from the last on; others: at random.
  explicit FiberRunner(std::uint64_t seed);

  void Run(const HostKernel& kernel, const Grid& grid, const void* call) override;

 private:
  enum class State : std::uint8_t { kNew, kReady, kInSync, kInShuffle, kEnded };
  struct KernelThread {
    HostKernelPlace place;
    State state = State::kNew;
    unsigned distance = 0;    ///< of the shuffle
    std::uint64_t value = 0;  ///< that it gives to the shuffle, then takes from it
    Fiber* fiber = nullptr;
  };

  void Sync() override;
  std::uint64_t Shuffle(std::uint64_t value, unsigned distance) override;
  void* Shared(int line, const char* file, std::size_t bytes) override;

  void RunBlock(const Grid& grid, unsigned block, unsigned row);
  /// Runs each thread that can run until it waits or ends.
  void RunReady();
  void RunNewThreads(Fiber* fiber);
  Fiber* IdleFiber();
  void Arrange(std::vector<unsigned>* order);
  /// Lets those go on that have all come to their barrier; false: all threads have ended.
  bool Release();
  bool ReleaseWarps();
  unsigned Count(State state) const;

  const std::uint64_t seed_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  SharedArrays shared_;
  const HostKernel* kernel_ = nullptr;
  const void* call_ = nullptr;
  std::vector<KernelThread> threads_;
  KernelThread* current_ = nullptr;
  std::vector<unsigned> order_;  ///< the threads of RunReady
  std::size_t next_ = 0;         ///< in order_
};

}  // namespace murmurate
