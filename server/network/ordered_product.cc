#include "server/network/ordered_product.h"

#include <algorithm>

namespace murmurate {
namespace {

// A tile is kProductRows rows of kVectors vectors: its sums stay in registers, and there are enough
// of them that no sum waits for the one before it.
template <int kLanes, int kVectors>
[[gnu::always_inline]] inline void MultiplyTile(int depth, double factor, const double* a,
                                                std::ptrdiff_t a_stride, const double* strip,
                                                double* c, std::ptrdiff_t c_stride) {
  using Vector [[gnu::vector_size(8 * kLanes), gnu::may_alias]] = double;
  Vector sums[kProductRows][kVectors] = {};
  const Vector* b = reinterpret_cast<const Vector*>(strip);
  for (int k = 0; k < depth; ++k, b += kVectors)
    for (int row = 0; row < kProductRows; ++row)
      for (int i = 0; i < kVectors; ++i) sums[row][i] += a[row * a_stride + k] * b[i];
  for (int row = 0; row < kProductRows; ++row)
    for (int i = 0; i < kVectors; ++i)
      for (int lane = 0; lane < kLanes; ++lane)
        c[row * c_stride + i * kLanes + lane] += factor * sums[row][i][lane];
}

template <int kColumns>
[[gnu::always_inline]] inline void PackStrip(const OrderedProduct& p, int k, int deep, int column,
                                             double* strip) {
  if (p.transposed) {
    for (int j = 0; j < kColumns; ++j)
      for (int i = 0; i < deep; ++i)
        strip[i * kColumns + j] = p.b.values[(column + j) * p.b.stride + k + i];
    return;
  }
  for (int i = 0; i < deep; ++i)
    for (int j = 0; j < kColumns; ++j)
      strip[i * kColumns + j] = p.b.values[(k + i) * p.b.stride + column + j];
}

/// Columns [begin, end). A strip of b is packed once for all rows.
template <int kLanes, int kVectors>
[[gnu::always_inline]] inline void MultiplyBy(const OrderedProduct& p, int begin, int end) {
  constexpr int kColumns = kLanes * kVectors;
  static_assert(kProductColumns % kColumns == 0);
  alignas(64) double strip[kProductDepth * kColumns];
  for (int k = 0; k < p.depth; k += kProductDepth)
    for (int column = begin; column < end; column += kColumns) {
      const int deep = std::min(kProductDepth, p.depth - k);
      PackStrip<kColumns>(p, k, deep, column, strip);
      for (int row = 0; row < p.rows; row += kProductRows)
        MultiplyTile<kLanes, kVectors>(deep, p.factor, p.a.values + row * p.a.stride + k,
                                       p.a.stride, strip, p.c.values + row * p.c.stride + column,
                                       p.c.stride);
    }
}

void MultiplyPlain(const OrderedProduct& p, int begin, int end) { MultiplyBy<2, 2>(p, begin, end); }
#ifdef __x86_64__
__attribute__((target("avx2"))) void MultiplyAvx2(const OrderedProduct& p, int begin, int end) {
  MultiplyBy<4, 2>(p, begin, end);
}
__attribute__((target("avx512f"))) void MultiplyAvx512(const OrderedProduct& p, int begin,
                                                       int end) {
  MultiplyBy<8, 2>(p, begin, end);
}
#endif

using MultiplyColumns = void (*)(const OrderedProduct&, int begin, int end);
MultiplyColumns MultiplyOf([[maybe_unused]] KernelSet set) {
#ifdef __x86_64__
  if (set == KernelSet::kAvx512) return MultiplyAvx512;
  if (set == KernelSet::kAvx2) return MultiplyAvx2;
#endif
  return MultiplyPlain;
}

}  // namespace

void Multiply(const OrderedProduct& product, ThreadTeam& team, KernelSet set) {
  const MultiplyColumns multiply = MultiplyOf(set);
  const int strips = product.columns / kProductColumns;
  team.Run([&](int share) {
    const int begin = strips * share / team.size(), end = strips * (share + 1) / team.size();
    multiply(product, begin * kProductColumns, end * kProductColumns);
  });
}

}  // namespace murmurate
