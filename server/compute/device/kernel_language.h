// The language of kernels: one source that nvcc compiles for a GPU and g++ for this processor, where
// tests run it (tests/device/host_device.h). A kernel is
//
//   MURMURATE_KERNEL(Scale) {                         // ScaleKernel(ScaleCall call)
//     MURMURATE_SHARED(float, parts, 32);             // one array for each block, or
//     MURMURATE_BLOCK_MEMORY(float, numbers);         // the Grid's block_bytes of each block
//     const std::size_t i = GlobalThread();
//     if (i < call.count) call.x[i] *= call.factor;
//   }
//
// or MURMURATE_KERNEL_OF(Scale, 512) where its blocks have more than 256 threads, and at most so many;
// and uses these functions instead of CUDA's own names. Every thread of a block comes to each
// SyncThreads, every thread of a warp to each ShuffleDown. No atomics: sums are trees of a fixed
// order, so the same numbers give the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "server/compute/device/calls/elements.h"

namespace murmurate {
inline constexpr unsigned kWarp = 32;
}

#ifdef __CUDACC__

#define MURMURATE_DEVICE __device__ __forceinline__
#define MURMURATE_KERNEL(Name) __global__ void Name##Kernel(const __grid_constant__ Name##Call call)
#define MURMURATE_KERNEL_OF(Name, most_threads)   \
  __global__ void __launch_bounds__(most_threads) \
      Name##Kernel(const __grid_constant__ Name##Call call)
#define MURMURATE_SHARED(Type, name, count) __shared__ Type name[count]
#define MURMURATE_BLOCK_MEMORY(Type, name)                      \
  extern __shared__ __align__(16) unsigned char block_memory[]; \
  Type* const name = reinterpret_cast<Type*>(block_memory)

namespace murmurate {
MURMURATE_DEVICE unsigned Thread() { return threadIdx.x; }  ///< of the block
MURMURATE_DEVICE unsigned Threads() { return blockDim.x; }  ///< of a block
MURMURATE_DEVICE unsigned Block() { return blockIdx.x; }
MURMURATE_DEVICE unsigned Blocks() { return gridDim.x; }
MURMURATE_DEVICE unsigned GridRow() { return blockIdx.y; }
MURMURATE_DEVICE void SyncThreads() { __syncthreads(); }
/// The value of the thread `distance` further in the warp; the own one where there is none.
template <typename T>
MURMURATE_DEVICE T ShuffleDown(T value, unsigned distance) {
  return __shfl_down_sync(0xffffffffu, value, distance);
}
}  // namespace murmurate

#else

#include <cmath>

#define MURMURATE_DEVICE inline
#define MURMURATE_KERNEL(Name) static void Name##Kernel(const Name##Call& call)
#define MURMURATE_KERNEL_OF(Name, most_threads) MURMURATE_KERNEL(Name)
#define MURMURATE_SHARED(Type, name, count) \
  Type* const name =                        \
      static_cast<Type*>(HostKernelShared(__LINE__, __FILE__, sizeof(Type) * (count)))
#define MURMURATE_BLOCK_MEMORY(Type, name) \
  Type* const name =                       \
      static_cast<Type*>(HostKernelShared(__LINE__, __FILE__, HostKernelHere().block_bytes))

namespace murmurate {
/// Where the kernel's thread is: one each, kept by what runs it.
struct HostKernelPlace {
  unsigned thread = 0, threads = 1, block = 0, blocks = 1, row = 0;
  unsigned block_bytes = 0;
};
// Given by what runs kernels on this processor.
const HostKernelPlace& HostKernelHere();
/// `file` and `line` name the barrier.
void HostKernelSync(const char* file, int line);
/// The 8 bytes that the thread `distance` further in the warp gave.
std::uint64_t HostKernelShuffle(std::uint64_t value, unsigned distance);
/// The block's array that this place of the source names.
void* HostKernelShared(int line, const char* file, std::size_t bytes);

inline unsigned Thread() { return HostKernelHere().thread; }
inline unsigned Threads() { return HostKernelHere().threads; }
inline unsigned Block() { return HostKernelHere().block; }
inline unsigned Blocks() { return HostKernelHere().blocks; }
inline unsigned GridRow() { return HostKernelHere().row; }
inline void SyncThreads(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  HostKernelSync(file, line);
}
template <typename T>
T ShuffleDown(T value, unsigned distance) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  bits = HostKernelShuffle(bits, distance);
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}
}  // namespace murmurate

#endif

namespace murmurate {

MURMURATE_DEVICE std::size_t GlobalThread() {
  return static_cast<std::size_t>(Block()) * Threads() + Thread();
}
MURMURATE_DEVICE std::size_t AllThreads() { return static_cast<std::size_t>(Blocks()) * Threads(); }

/// A number of ElementType::kBf16.
struct Bf16 {
  std::uint16_t bits;
};

MURMURATE_DEVICE float Widened(float number) { return number; }
MURMURATE_DEVICE float Widened(Bf16 number) {
  const std::uint32_t bits = std::uint32_t{number.bits} << 16;
  float wide;
  memcpy(&wide, &bits, sizeof wide);
  return wide;
}

/// The nearest number of the type, of two the one whose last bit is 0; what is no number stays none.
template <typename T>
MURMURATE_DEVICE T Narrowed(float number) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return number;
  } else {
    std::uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return {static_cast<std::uint16_t>(bits >> 16 | 0x40u)};
    return {static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};
  }
}

/// The i-th number of a block of that type.
MURMURATE_DEVICE float ReadNumber(const void* block, ElementType type, std::size_t i) {
  return type == ElementType::kBf16 ? Widened(static_cast<const Bf16*>(block)[i])
                                    : static_cast<const float*>(block)[i];
}
MURMURATE_DEVICE void WriteNumber(void* block, ElementType type, std::size_t i, float number) {
  if (type == ElementType::kBf16)
    static_cast<Bf16*>(block)[i] = Narrowed<Bf16>(number);
  else
    static_cast<float*>(block)[i] = number;
}

/// body(T()), T being how numbers of that type are kept: float or Bf16.
template <typename Body>
MURMURATE_DEVICE void WithElements(ElementType type, const Body& body) {
  if (type == ElementType::kBf16)
    body(Bf16());
  else
    body(float());
}

/// The sum over the block, in every thread; `parts` is a shared array of 32. Threads() is a multiple
/// of 32. The order depends on Threads() alone.
template <typename T>
MURMURATE_DEVICE T SumOverBlock(T value, T* parts) {
  for (unsigned distance = kWarp / 2; distance > 0; distance /= 2) {
    const T other = ShuffleDown(value, distance);
    if (Thread() % kWarp + distance < kWarp) value += other;
  }
  SyncThreads();  // parts of an earlier sum have been read
  if (Thread() % kWarp == 0) parts[Thread() / kWarp] = value;
  SyncThreads();
  T sum = 0;
  for (unsigned warp = 0; warp < Threads() / kWarp; ++warp) sum += parts[warp];
  return sum;
}

}  // namespace murmurate
