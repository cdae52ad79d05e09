#include "tests/network/orthonormal_reference.h"

#include <algorithm>
#include <cmath>

namespace murmurate {
namespace {

using Row = std::vector<double>;
constexpr int kBlock = 32;   // vectors that are made orthogonal to those before them together
constexpr int kDepth = 128;  // products that become one sum before it is added to the others

/// Each eighth product in a sum of its own; a rest of four in the first.
double DotOfEight(const Row& a, const Row& b) {
  const int n = static_cast<int>(a.size()), whole = n / 8 * 8;
  double sum[8] = {};
  for (int i = 0; i < n; ++i) sum[i < whole ? i % 8 : 0] += a[i] * b[i];
  for (const int half : {4, 2, 1})
    for (int lane = 0; lane < half; ++lane) sum[lane] += sum[lane + half];
  return sum[0];
}

double DotInTurns(const Row& a, const Row& b, int n) {
  double total = 0;
  for (int k = 0; k < n; k += kDepth) {
    double sum = 0;
    for (int i = k; i < std::min(n, k + kDepth); ++i) sum += a[i] * b[i];
    total += sum;
  }
  return total;
}

/// Takes off x what it has in common with the first `before` rows.
void RemoveCommon(const std::vector<Row>& q, int before, int n, Row* x) {
  Row along;
  for (int u = 0; u < before; ++u) along.push_back(DotInTurns(*x, q[u], n));
  for (int j = 0; j < n; ++j)
    for (int k = 0; k < before; k += kDepth) {
      double sum = 0;
      for (int u = k; u < std::min(before, k + kDepth); ++u) sum += along[u] * q[u][j];
      (*x)[j] -= sum;
    }
}

}  // namespace

std::vector<double> PlainOrthonormalVectors(int count, int n, Random& random) {
  std::vector<Row> q(count, Row((n + 3) / 4 * 4));
  for (Row& x : q)
    for (int i = 0; i < n; ++i) x[i] = random.Normal();
  for (int v = 0; v < count; ++v) {
    Row& x = q[v];
    const int begin = v / kBlock * kBlock;
    RemoveCommon(q, begin, n, &x);
    for (int u = begin; u < v; ++u) {
      const double along = DotOfEight(x, q[u]);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] -= along * q[u][i];
    }
    const double length = std::sqrt(DotOfEight(x, x));
    for (double& number : x) number /= length;
  }
  std::vector<double> all;
  for (const Row& x : q) all.insert(all.end(), x.begin(), x.begin() + n);
  return all;
}

}  // namespace murmurate
