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

/// Modified Gram-Schmidt over vectors [begin, end).
void Orthonormalize(int begin, int end, int n, double* q) {
  for (int v = begin; v < end; ++v) {
    double* const x = q + static_cast<std::size_t>(v) * n;
    for (int u = begin; u < v; ++u) {
      const double* const y = q + static_cast<std::size_t>(u) * n;
      const double along = Dot(x, y, n);
      for (int i = 0; i < n; ++i) x[i] -= along * y[i];
    }
    const double length = std::sqrt(Dot(x, x, n));
    for (int i = 0; i < n; ++i) x[i] /= length;
  }
}

constexpr int kRows = 4, kColumns = 4;  // of a tile: its sums stay in registers
constexpr int kDepth = 128;             // of a strip of b, packed once for all rows

using Two = double __attribute__((vector_size(16), may_alias));

/// c[row][column] += factor * sum over k of a[row][k] strip[k][column]; k in order.
void MultiplyTile(int depth, double factor, const double* a, std::ptrdiff_t a_stride,
                  const Two* strip, double* c, std::ptrdiff_t c_stride) {
  Two sums[kRows][2] = {};
  for (int k = 0; k < depth; ++k, strip += 2)
    for (int row = 0; row < kRows; ++row) {
      const double x = a[row * a_stride + k];
      sums[row][0] += x * strip[0];
      sums[row][1] += x * strip[1];
    }
  for (int row = 0; row < kRows; ++row)
    for (int column = 0; column < kColumns; ++column)
      c[row * c_stride + column] += factor * sums[row][column / 2][column % 2];
}

struct Matrix {
  double* values;
  std::ptrdiff_t stride;
};

/// c [rows][columns] += factor a [rows][depth] b [depth][columns]; rows and columns multiples of
/// kRows and kColumns.
void Multiply(int rows, int columns, int depth, double factor, Matrix a, Matrix b, Matrix c) {
  Two strip[kDepth * kColumns / 2];
  for (int k = 0; k < depth; k += kDepth)
    for (int j = 0; j < columns; j += kColumns) {
      const int deep = std::min(kDepth, depth - k);
      for (int i = 0; i < deep; ++i)
        std::copy_n(b.values + (k + i) * b.stride + j, kColumns,
                    reinterpret_cast<double*>(strip + i * (kColumns / 2)));
      for (int i = 0; i < rows; i += kRows)
        MultiplyTile(deep, factor, a.values + i * a.stride + k, a.stride, strip,
                     c.values + i * c.stride + j, c.stride);
    }
}

std::ptrdiff_t Up(std::ptrdiff_t n) { return (n + kColumns - 1) / kColumns * kColumns; }

}  // namespace

std::vector<double> OrthonormalVectors(int count, int n, Random& random) {
  constexpr int kBlock = 32;
  // Rows and columns beyond those asked for are zero, so that all tiles are whole.
  const std::ptrdiff_t width = Up(n), rows = Up(count);
  std::vector<double> q(rows * width), turned(count > kBlock ? width * rows : 0);
  std::vector<double> along(kBlock * rows), result(static_cast<std::size_t>(count) * n);
  for (int v = 0; v < count; ++v)
    for (int i = 0; i < n; ++i) q[v * width + i] = random.Normal();
  for (int begin = 0; begin < count; begin += kBlock) {
    const int end = std::min(count, begin + kBlock), block = static_cast<int>(Up(end - begin));
    const Matrix all{q.data(), width}, mine{q.data() + begin * width, width};
    const Matrix projection{along.data(), rows};
    if (begin > 0) {
      std::fill(along.begin(), along.end(), 0.0);
      Multiply(block, begin, n, 1.0, mine, {turned.data(), rows}, projection);
      Multiply(block, static_cast<int>(width), begin, -1.0, projection, all, mine);
    }
    Orthonormalize(begin, end, static_cast<int>(width), q.data());
    if (end == count) break;
    for (int v = begin; v < end; ++v)
      for (int i = 0; i < n; ++i) turned[i * rows + v] = q[v * width + i];
  }
  for (int v = 0; v < count; ++v)
    std::copy_n(q.begin() + v * width, n, result.begin() + static_cast<std::ptrdiff_t>(v) * n);
  return result;
}

}  // namespace murmurate
