#include "shared/network/orthonormal.h"

#include <algorithm>
#include <cmath>

namespace murmurate {
namespace {

/// Four partial sums in a fixed order: the compiler may use vectors and the result never changes.
double Dot(const double* a, const double* b, int n) {
  double sum[4] = {};
  int i = 0;
  for (; i + 4 <= n; i += 4)
    for (int lane = 0; lane < 4; ++lane) sum[lane] += a[i + lane] * b[i + lane];
  for (; i < n; ++i) sum[0] += a[i] * b[i];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
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

/// sums[r][c] += factor * sum over k of a[r][k] b[k][c]; k in order.
void MultiplyTile(int depth, double factor, const double* a, std::ptrdiff_t a_stride,
                  const double* b, std::ptrdiff_t b_stride, double* c, std::ptrdiff_t c_stride) {
  double sums[kRows][kColumns] = {};
  for (int k = 0; k < depth; ++k, b += b_stride)
    for (int row = 0; row < kRows; ++row) {
      const double x = a[row * a_stride + k];
      for (int column = 0; column < kColumns; ++column) sums[row][column] += x * b[column];
    }
  for (int row = 0; row < kRows; ++row)
    for (int column = 0; column < kColumns; ++column)
      c[row * c_stride + column] += factor * sums[row][column];
}

/// c [rows][columns] += factor a [rows][depth] b [depth][columns]; rows a multiple of 4.
void Multiply(int rows, int columns, int depth, double factor, const double* a,
              std::ptrdiff_t a_stride, const double* b, std::ptrdiff_t b_stride, double* c,
              std::ptrdiff_t c_stride) {
  constexpr int kDepth = 128;  // of b, that stay in the cache for all rows
  for (int k = 0; k < depth; k += kDepth)
    for (int j = 0; j + kColumns <= columns; j += kColumns)
      for (int i = 0; i < rows; i += kRows)
        MultiplyTile(std::min(kDepth, depth - k), factor, a + i * a_stride + k, a_stride,
                     b + k * b_stride + j, b_stride, c + i * c_stride + j, c_stride);
  for (int i = 0; i < rows; ++i)
    for (int j = columns / kColumns * kColumns; j < columns; ++j) {
      double sum = 0;
      for (int k = 0; k < depth; ++k) sum += a[i * a_stride + k] * b[k * b_stride + j];
      c[i * c_stride + j] += factor * sum;
    }
}

}  // namespace

std::vector<double> OrthonormalVectors(int count, int n, Random& random) {
  constexpr int kBlock = 64;
  const std::size_t length = n;
  // Up to 3 rows more than asked for, all zero, so that the last block has whole tiles.
  std::vector<double> q((static_cast<std::size_t>(count) + kRows - 1) / kRows * kRows * length);
  std::vector<double> turned(count > kBlock ? length * count : 0);
  std::vector<double> along(static_cast<std::size_t>(kBlock) * count);
  for (std::size_t i = 0; i < length * count; ++i) q[i] = random.Normal();
  for (int begin = 0; begin < count; begin += kBlock) {
    const int end = std::min(count, begin + kBlock);
    const int rows = (end - begin + kRows - 1) / kRows * kRows;
    double* const block = q.data() + begin * length;
    if (begin > 0) {
      std::fill(along.begin(), along.end(), 0.0);
      Multiply(rows, begin, n, 1.0, block, n, turned.data(), count, along.data(), count);
      Multiply(rows, n, begin, -1.0, along.data(), count, q.data(), n, block, n);
    }
    Orthonormalize(begin, end, n, q.data());
    if (end == count) break;
    for (int v = begin; v < end; ++v)
      for (int i = 0; i < n; ++i)
        turned[i * static_cast<std::size_t>(count) + v] = q[v * length + i];
  }
  q.resize(length * count);
  return q;
}

}  // namespace murmurate
