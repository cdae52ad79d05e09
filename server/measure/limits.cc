#include "server/measure/limits.h"

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "shared/compute/dense_kernels.h"

namespace murmurate {
namespace {

/// Processor time of this thread, not the wall's: what others do on the machine does not count.
double Now(clockid_t clock = CLOCK_THREAD_CPUTIME_ID) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double ShortestCall(clockid_t clock, const std::function<void()>& call, int rounds,
                    double round_s) {
  long calls = 1;
  for (;; calls *= 2) {  // also warms the caches
    const double start = Now(clock);
    for (long i = 0; i < calls; ++i) call();
    if (Now(clock) - start > round_s / 2) break;
  }
  double best = 1e9;
  for (int round = 0; round < rounds; ++round) {
    const double start = Now(clock);
    for (long i = 0; i < calls; ++i) call();
    best = std::min(best, (Now(clock) - start) / static_cast<double>(calls));
  }
  return best;
}

// Ten sums hide the latency of any multiply-add of today; the empty asm keeps each one alive.
#define MURMURATE_FMA_LOOP(sum, constraint)                                       \
  const auto factor = sum[0];                                                     \
  auto a = factor, b = a, c = a, d = a, e = a, f = a, g = a, h = a, i = a, j = a; \
  for (long k = 0; k < steps; ++k) {                                              \
    a = a * factor + factor, b = b * factor + factor, c = c * factor + factor;    \
    d = d * factor + factor, e = e * factor + factor, f = f * factor + factor;    \
    g = g * factor + factor, h = h * factor + factor, i = i * factor + factor;    \
    j = j * factor + factor;                                                      \
    asm volatile("" : "+" constraint(a), "+" constraint(b), "+" constraint(c));   \
    asm volatile("" : "+" constraint(d), "+" constraint(e), "+" constraint(f));   \
    asm volatile("" : "+" constraint(g), "+" constraint(h), "+" constraint(i));   \
    asm volatile("" : "+" constraint(j));                                         \
  }

constexpr int kChains = 10;
using Four = float __attribute__((vector_size(16)));

void FmaPlain(long steps) {
  const Four start[1] = {{0.5f, 0.5f, 0.5f, 0.5f}};
#ifdef __x86_64__
  MURMURATE_FMA_LOOP(start, "x")
#else
  MURMURATE_FMA_LOOP(start, "w")
#endif
}

#ifdef __x86_64__
using Eight = float __attribute__((vector_size(32)));
using Sixteen = float __attribute__((vector_size(64)));

__attribute__((target("avx2,fma"))) void FmaAvx2(long steps) {
  const Eight start[1] = {Eight{} + 0.5f};
  MURMURATE_FMA_LOOP(start, "x")
}
__attribute__((target("avx512f,fma"))) void FmaAvx512(long steps) {
  const Sixteen start[1] = {Sixteen{} + 0.5f};
  MURMURATE_FMA_LOOP(start, "v")
}
#endif

}  // namespace

double MeasureFmaPeak() {
  const DenseKernels& kernels = BestKernels<DenseKernels>();
  void (*loop)(long) = FmaPlain;
#ifdef __x86_64__
  if (kernels.set == KernelSet::kAvx2) loop = FmaAvx2;
  if (kernels.set == KernelSet::kAvx512) loop = FmaAvx512;
#endif
  const long steps = 30'000;
  double best = 1e9;
  for (int round = 0; round < 10; ++round) {
    const double start = Now();
    loop(steps);
    best = std::min(best, Now() - start);
  }
  return 2.0 * kChains * kernels.lanes * static_cast<double>(steps) / best;
}

double MeasureCopyBandwidth(std::size_t bytes) {
  std::vector<char> from(bytes, 1), to(bytes);
  const double seconds = SecondsPerCall([&] {
    std::memcpy(to.data(), from.data(), bytes);
    asm volatile("" : : "r"(to.data()) : "memory");
  });
  return static_cast<double>(bytes) / seconds;
}

double SecondsPerCall(const std::function<void()>& call, int rounds, double round_s) {
  return ShortestCall(CLOCK_THREAD_CPUTIME_ID, call, rounds, round_s);
}

double WallSecondsPerCall(const std::function<void()>& call, int rounds, double round_s) {
  return ShortestCall(CLOCK_MONOTONIC, call, rounds, round_s);
}

void Print(const BenchRow& row) {
  std::printf("%s: %.4g %s", row.name.c_str(), row.ours, row.unit.c_str());
  const double ratio = row.limit > 0 ? row.ours / row.limit : 0;
  if (row.limit > 0) std::printf(", limit %.4g %s, ratio %.2f", row.limit, row.unit.c_str(), ratio);
  if (row.target > 0) {
    const double measured = row.target_is_ratio ? ratio : row.ours;
    const bool met = row.smaller_is_better ? measured <= row.target : measured >= row.target;
    std::printf(", target %.4g%s: %s", row.target,
                row.target_is_ratio ? "" : (" " + row.unit).c_str(), met ? "met" : "MISSED");
  }
  std::printf("\n");
}

}  // namespace murmurate
