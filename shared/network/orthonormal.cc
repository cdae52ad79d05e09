#include "shared/network/orthonormal.h"

#include <algorithm>
#include <cmath>

namespace murmurate {
namespace {

/// Eight partial sums in a fixed order: the compiler may use vectors and the result never changes.
double Dot(const double* a, const double* b, int n) {
  double sum[8] = {};
  int i = 0;
  for (; i + 8 <= n; i += 8)
    for (int lane = 0; lane < 8; ++lane) sum[lane] += a[i + lane] * b[i + lane];
  for (; i < n; ++i) sum[0] += a[i] * b[i];
  for (const int half : {4, 2, 1})
    for (int lane = 0; lane < half; ++lane) sum[lane] += sum[lane + half];
  return sum[0];
}

/// Modified Gram-Schmidt over vectors [begin, end), rows of q.
void Orthonormalize(int begin, int end, int n, std::ptrdiff_t stride, double* q) {
  for (int v = begin; v < end; ++v) {
    double* const x = q + v * stride;
    for (int u = begin; u < v; ++u) {
      const double* const y = q + u * stride;
      const double along = Dot(x, y, n);
      for (int i = 0; i < n; ++i) x[i] -= along * y[i];
    }
    const double length = std::sqrt(Dot(x, x, n));
    for (int i = 0; i < n; ++i) x[i] /= length;
  }
}

constexpr int kRows = 4;     // of a tile: its sums stay in registers
constexpr int kDepth = 128;  // of a strip of b, packed once for all rows
constexpr int kPadding = 8;  // columns of the widest tile

struct Matrix {
  double* values;
  std::ptrdiff_t stride;
};

/// c [rows][columns] += factor a [rows][depth] b, b [depth][columns] or, `turned`,
/// [columns][depth]. Rows are a multiple of kRows, columns of kPadding. Products are added in the
/// order of depth, kDepth of them at a time, whatever the tiles: every instruction set gives the
/// same bits.
struct Product {
  int rows, columns, depth;
  double factor;
  Matrix a, b;
  bool turned;
  Matrix c;
};

template <int kLanes, int kVectors>
[[gnu::always_inline]] inline void MultiplyTile(int depth, double factor, const double* a,
                                                std::ptrdiff_t a_stride, const double* strip,
                                                double* c, std::ptrdiff_t c_stride) {
  using Vector [[gnu::vector_size(8 * kLanes), gnu::may_alias]] = double;
  Vector sums[kRows][kVectors] = {};
  const Vector* b = reinterpret_cast<const Vector*>(strip);
  for (int k = 0; k < depth; ++k, b += kVectors)
    for (int row = 0; row < kRows; ++row)
      for (int i = 0; i < kVectors; ++i) sums[row][i] += a[row * a_stride + k] * b[i];
  for (int row = 0; row < kRows; ++row)
    for (int i = 0; i < kVectors; ++i)
      for (int lane = 0; lane < kLanes; ++lane)
        c[row * c_stride + i * kLanes + lane] += factor * sums[row][i][lane];
}

template <int kColumns>
[[gnu::always_inline]] inline void PackStrip(const Product& p, int k, int deep, int column,
                                             double* strip) {
  for (int i = 0; i < deep; ++i)
    for (int j = 0; j < kColumns; ++j)
      strip[i * kColumns + j] = p.turned ? p.b.values[(column + j) * p.b.stride + k + i]
                                         : p.b.values[(k + i) * p.b.stride + column + j];
}

template <int kLanes, int kVectors>
[[gnu::always_inline]] inline void MultiplyBy(const Product& p) {
  constexpr int kColumns = kLanes * kVectors;
  alignas(64) double strip[kDepth * kColumns];
  for (int k = 0; k < p.depth; k += kDepth)
    for (int column = 0; column < p.columns; column += kColumns) {
      const int deep = std::min(kDepth, p.depth - k);
      PackStrip<kColumns>(p, k, deep, column, strip);
      for (int row = 0; row < p.rows; row += kRows)
        MultiplyTile<kLanes, kVectors>(deep, p.factor, p.a.values + row * p.a.stride + k,
                                       p.a.stride, strip, p.c.values + row * p.c.stride + column,
                                       p.c.stride);
    }
}

void MultiplyPlain(const Product& p) { MultiplyBy<2, 2>(p); }
#ifdef __x86_64__
__attribute__((target("avx2"))) void MultiplyAvx2(const Product& p) { MultiplyBy<4, 2>(p); }
__attribute__((target("avx512f"))) void MultiplyAvx512(const Product& p) { MultiplyBy<8, 1>(p); }
#endif

using Multiply = void (*)(const Product&);
Multiply MultiplyOf([[maybe_unused]] KernelSet set) {
#ifdef __x86_64__
  if (set == KernelSet::kAvx512) return MultiplyAvx512;
  if (set == KernelSet::kAvx2) return MultiplyAvx2;
#endif
  return MultiplyPlain;
}

int Up(int n, int to) { return (n + to - 1) / to * to; }

}  // namespace

std::vector<double> OrthonormalVectors(int count, int n, Random& random, KernelSet set) {
  constexpr int kBlock = 32;
  const Multiply multiply = MultiplyOf(set);
  // Rows and columns beyond those asked for are zero, so that all tiles are whole.
  const std::ptrdiff_t width = Up(n, kPadding), rows = Up(count, kPadding);
  std::vector<double> q(rows * width), along(kBlock * rows);
  for (int v = 0; v < count; ++v)
    for (int i = 0; i < n; ++i) q[v * width + i] = random.Normal();
  for (int begin = 0; begin < count; begin += kBlock) {
    const int end = std::min(count, begin + kBlock), block = Up(end - begin, kRows);
    const Matrix all{q.data(), width}, mine{q.data() + begin * width, width};
    const Matrix projection{along.data(), rows};
    if (begin > 0) {
      std::fill(along.begin(), along.end(), 0.0);
      multiply({block, begin, n, 1.0, mine, all, true, projection});
      multiply({block, static_cast<int>(width), begin, -1.0, projection, all, false, mine});
    }
    Orthonormalize(begin, end, Up(n, 4), width, q.data());
  }
  for (int v = 1; v < count && n < width; ++v)
    std::copy_n(q.begin() + v * width, n, q.begin() + static_cast<std::ptrdiff_t>(v) * n);
  q.resize(static_cast<std::size_t>(count) * n);
  return q;
}

}  // namespace murmurate
