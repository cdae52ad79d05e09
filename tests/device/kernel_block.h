// What the functions of server/compute/device/kernel_language.h ask of whatever runs a kernel on this
// processor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "server/compute/device/device.h"
#include "server/compute/device/kernel_language.h"

namespace murmurate {

/// The block that a kernel's thread belongs to. Each function is called by the kernel's thread.
class KernelBlock {
 public:
  virtual ~KernelBlock() = default;
  virtual void Sync() = 0;
  virtual std::uint64_t Shuffle(std::uint64_t value, unsigned distance) = 0;
  virtual void* Shared(int line, const char* file, std::size_t bytes) = 0;
};

/// The kernel's thread that runs on this thread of the processor.
struct RunningThread {
  const HostKernelPlace* place = nullptr;
  KernelBlock* block = nullptr;
};
extern constinit thread_local RunningThread running_thread;

/// A SyncThreads of the source.
struct BarrierPlace {
  std::string_view file;
  int line = 0;
  auto operator<=>(const BarrierPlace&) const = default;
};
/// Asked by each thread that comes to a barrier; false: it goes on without waiting. Null: it waits.
/// Set while no kernel runs.
extern bool (*wait_at_barrier)(const BarrierPlace& place);

/// A kernel as this processor runs it: `run` is one thread of it.
struct HostKernel {
  const char* name;
  std::size_t call_bytes;
  void (*run)(const void* call);
};

/// The kernel that MURMURATE_KERNEL(Name) defined.
#define MURMURATE_HOST_KERNEL(Name)                                                        \
  ::murmurate::HostKernel {                                                                \
    .name = #Name, .call_bytes = sizeof(Name##Call),                                       \
    .run = [](const void* words) { Name##Kernel(*static_cast<const Name##Call*>(words)); } \
  }

/// Runs all blocks and threads of a kernel, and returns when they have ended. A thread that a
/// barrier waits for in vain, and a grid that no GPU takes, abort with a sentence.
class KernelRunner {
 public:
  virtual ~KernelRunner() = default;
  virtual void Run(const HostKernel& kernel, const Grid& grid, const void* call) = 0;
};

/// Aborts unless a GPU could run the kernel on this grid.
void CheckGrid(const HostKernel& kernel, const Grid& grid);

/// Ends the program with a sentence about the kernel.
[[noreturn]] void KernelFails(const HostKernel& kernel, const char* sentence);

/// What stands for memory that was not written. The processor notes what computes with it
/// (FE_INVALID): no word can be a signalling NaN both as a float and as half of a double.
enum class Poison : std::uint32_t {
  kDoubles = 0x7ff4dead,  ///< signalling as a double, not a number as a float
  kFloats = 0x7fa0dead,   ///< signalling as a float, 1e306 as a double
};
/// Fills memory with words of it.
void FillWith(Poison poison, void* memory, std::size_t bytes);

}  // namespace murmurate
