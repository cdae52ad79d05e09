// Device: a processor with memory of its own that works through what it is given while the host
// goes on: memory, streams, kernels, recorded graphs, and the products and convolutions of a
// library.
//
//   device_cuda.cc (a plug-in)     an NVIDIA GPU
//   tests/device/host_device.h     this processor: the same kernels, for tests and nowhere else
//
// What is enqueued on one stream runs in order; two streams meet at events. The host waits in Await
// and in nothing else. Memory of the device is read and written by kernels, copies and library calls
// alone.
//
// After a failure (lost hardware, an illegal address) error() says what it was, every further call
// does nothing and Await returns at once. One thread calls everything but AllocatePinned and
// FreePinned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "server/compute/device/calls/elements.h"
#include "server/compute/device/kernel_list.h"

namespace murmurate {

/// How exactly products and convolutions are computed; sums are of 32 bits at least.
enum class DevicePrecision : std::uint8_t {
  kFp32,  ///< as IEEE floats
  kTf32,  ///< factors of 10 bits of mantissa
  kBf16,  ///< factors of 7 bits of mantissa
};

/// How a device computes, which decides what lies in its memory and how.
struct DeviceArithmetic {
  DevicePrecision precision = DevicePrecision::kFp32;  ///< that it was opened with
  /// How pictures of convolutions are to lie: kBf16 where that is the precision and the hardware has
  /// it.
  ElementType pictures = ElementType::kFloat32;
};

/// What a device is. Empty and 0: it does not say.
struct DeviceDescription {
  std::string name = "";       ///< "NVIDIA H200"
  std::string driver = "";     ///< "580.65"
  std::string libraries = "";  ///< "CUDA 13.0, cuBLAS 13.1.0, cuDNN 9.19.0"
  int multiprocessors = 0;
  std::size_t memory_bytes = 0, free_bytes = 0;
  DeviceArithmetic arithmetic = {};
};

/// kMain computes, kCopy moves batches and results beside it.
enum class Stream : std::uint8_t { kMain, kCopy };
inline constexpr int kStreams = 2;

/// Of the device that made it; -1: none.
using DeviceEvent = int;
using DeviceGraph = int;

/// How many threads run a kernel: `blocks` x `rows` blocks of `threads`.
struct Grid {
  std::uint32_t blocks = 1, rows = 1, threads = 128;
  /// Of MURMURATE_BLOCK_MEMORY; with the kernel's other arrays 48 KB at most.
  std::uint32_t block_bytes = 0;

  /// One thread for each of `count` (at least one block).
  static Grid For(std::size_t count, std::uint32_t threads = 128) {
    return {.blocks = count == 0 ? 1 : static_cast<std::uint32_t>((count + threads - 1) / threads),
            .threads = threads};
  }
};

// What the library of a device that has one takes of its memory for itself, at most, on each stream.
inline constexpr std::size_t kProductWorkspaceBytes = std::size_t{32} << 20;       ///< Multiply
inline constexpr std::size_t kConvolutionWorkspaceBytes = std::size_t{256} << 20;  ///< Convolve

/// c = op(a) op(b), or with `accumulate` added to it. Row-major: op(a) is [rows][depth], op(b)
/// [depth][columns], c [rows][columns]; a transposed one lies as [depth][rows] ([columns][depth]).
/// Strides are floats from one row to the next as it lies.
struct ProductCall {
  int rows = 0, columns = 0, depth = 0;
  const float* a = nullptr;
  std::ptrdiff_t a_stride = 0;
  bool a_transposed = false;
  const float* b = nullptr;
  std::ptrdiff_t b_stride = 0;
  bool b_transposed = false;
  float* c = nullptr;
  std::ptrdiff_t c_stride = 0;
  bool accumulate = false;
};

/// A convolution over NHWC pictures as shared/compute/convolution.h has it, without bias and
/// activation, and its two gradients; all blocks contiguous, on borders of 16 bytes (the weight: 4).
/// With pictures of bf16 the weight is rounded to that, too, and so is its gradient; sums are of 32
/// bits.
struct ConvolutionCall {
  enum class Kind : std::uint8_t {
    kForward,         ///< output <- input, weight
    kInputGradient,   ///< input <- output (its gradient), weight
    kWeightGradient,  ///< weight <- input, output (its gradient)
  } kind = Kind::kForward;
  int images = 1, height = 0, width = 0, channels = 0;  ///< of the input
  int filters = 0, kernel = 0, stride = 1, padding = 0;
  ElementType pictures = ElementType::kFloat32;  ///< the type of input and output
  void* input = nullptr;                         ///< [images][height][width][channels]
  float* weight = nullptr;                       ///< [kernel][kernel][channels][filters]
  void* output = nullptr;                        ///< [images][out height][out width][filters]
};

class RankSums;

class Device {
 public:
  virtual ~Device() = default;

  /// Sums over the devices of other processes (rank_sums.h); null: this device has none.
  virtual RankSums* rank_sums() { return nullptr; }

  virtual DeviceDescription description() = 0;
  /// What failed, once something has; empty: nothing.
  virtual std::string error() const = 0;

  /// Memory of the device that begins on a border of 256 bytes; null: there is none left. Its
  /// content is not defined.
  virtual void* Allocate(std::size_t bytes) = 0;
  /// Waits for all that was enqueued.
  virtual void Free(void* memory) = 0;
  /// Host memory that copies reach while the processor works, on a border of 256 bytes; null: there
  /// is none. Any thread, also after the device has failed.
  virtual std::byte* AllocatePinned(std::size_t bytes) = 0;
  virtual void FreePinned(std::byte* memory) = 0;

  // Enqueued; memory of the host must stay, and unchanged, until the copy is done.
  virtual void CopyIn(Stream stream, void* device, const void* host, std::size_t bytes) = 0;
  virtual void CopyOut(Stream stream, void* host, const void* device, std::size_t bytes) = 0;
  virtual void CopyWithin(Stream stream, void* to, const void* from, std::size_t bytes) = 0;
  virtual void ClearMemory(Stream stream, void* device, std::size_t bytes) = 0;  ///< zeros

  // How a shape is computed is chosen, and what that needs is allocated, when it first comes (the host
  // may wait for the stream then, to measure algorithms): what a
  // graph is to hold has been run once before, on the same stream, with the same shapes and the same
  // borders of memory. In a graph a new one is an error.
  virtual void Multiply(Stream stream, const ProductCall& call) = 0;
  virtual void Convolve(Stream stream, const ConvolutionCall& call) = 0;

  /// Runs the kernel that the call belongs to with a copy of it.
  template <typename Call>
  void Launch(Stream stream, const Grid& grid, Call call) {
    static_assert(std::is_trivially_copyable_v<Call> && sizeof(Call) <= kMostCallBytes);
#if __has_builtin(__builtin_clear_padding)
    __builtin_clear_padding(&call);  // so that the host device can tell what points to where
#endif
    LaunchKernel(stream, Call::kKernel, grid, &call, sizeof call);
  }
  static constexpr std::size_t kMostCallBytes = 4000;

  virtual DeviceEvent MakeEvent() = 0;  ///< one that is reached until it is recorded
  /// Gives it back, also while it is waited for on a stream. -1: nothing happens.
  virtual void DropEvent(DeviceEvent event) = 0;
  virtual void Record(Stream stream, DeviceEvent event) = 0;
  /// What is enqueued on the stream from here on begins when the event is reached.
  virtual void WaitFor(Stream stream, DeviceEvent event) = 0;
  virtual bool Reached(DeviceEvent event) = 0;  ///< never waits; for what measures time
  virtual void Await(DeviceEvent event) = 0;    ///< sleeps until it is reached

  /// What is enqueued on the stream from BeginGraph to EndGraph is not run but kept with the
  /// arguments that it was given; Replay enqueues all of it at once. Copies of host memory, events
  /// and Free may not be part of it. -1: it failed.
  virtual void BeginGraph(Stream stream) = 0;
  virtual DeviceGraph EndGraph(Stream stream) = 0;
  virtual void Replay(Stream stream, DeviceGraph graph) = 0;
  virtual void DropGraph(DeviceGraph graph) = 0;  ///< -1: nothing happens

 protected:
  virtual void LaunchKernel(Stream stream, KernelId kernel, const Grid& grid, const void* call,
                            std::size_t bytes) = 0;
};

}  // namespace murmurate
