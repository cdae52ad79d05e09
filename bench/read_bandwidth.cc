#include "bench/read_bandwidth.h"

#include "server/measure/limits.h"
#include "shared/core/aligned_floats.h"

namespace murmurate {
namespace {

using Line = float __attribute__((vector_size(64)));

#ifdef __x86_64__
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
void Read(const float* from, std::size_t count) {
  Line sums[8] = {};
  for (std::size_t i = 0; i + 128 <= count; i += 128)
    for (int s = 0; s < 8; ++s) sums[s] += *reinterpret_cast<const Line*>(from + i + 16 * s);
  for (Line& sum : sums) asm volatile("" : : "m"(sum));
}

}  // namespace

double MeasureReadBandwidth(std::size_t bytes) {
  const AlignedFloats block(bytes / sizeof(float));
  const double seconds = SecondsPerCall([&] { Read(block.data(), block.size()); }, 20, 2e-3);
  return static_cast<double>(bytes) / seconds;
}

}  // namespace murmurate
