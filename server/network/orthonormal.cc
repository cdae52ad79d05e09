#include "server/network/orthonormal.h"

#include <algorithm>
#include <cmath>

#include "server/network/ordered_product.h"
#include "shared/core/normals.h"

namespace murmurate {
namespace {

constexpr int kBlock = 32;  // vectors that are made orthogonal to those before them together
constexpr int kSpan = 256;  // vectors whose products with those before all of them are one product
static_assert(kSpan % kProductDepth == 0, "a sum over all before begins anew where a span begins");

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

int Up(int n, int to) { return (n + to - 1) / to * to; }

/// Rows of n numbers, padded with zeros to whole tiles.
class Vectors {
 public:
  Vectors(int count, int n, ThreadTeam& team, KernelSet set)
      : count_(count),
        n_(n),
        width_(Up(n, kProductColumns)),
        rows_(Up(count, kProductColumns)),
        team_(team),
        set_(set),
        q_(rows_ * width_),
        drawn_(std::min<std::ptrdiff_t>(kSpan, rows_) * width_),
        along_(std::min<std::ptrdiff_t>(kSpan, rows_) * rows_) {}

  void Draw(Random& random) {
    FillNormals(std::span(q_).first(static_cast<std::size_t>(count_) * n_), random, team_);
    for (std::ptrdiff_t v = count_ - 1; v > 0 && n_ < width_; --v) {
      std::copy_backward(q_.begin() + v * n_, q_.begin() + (v + 1) * n_,
                         q_.begin() + v * width_ + n_);
    }
    for (std::ptrdiff_t v = 0; v < count_; ++v)
      std::fill(q_.begin() + v * width_ + n_, q_.begin() + (v + 1) * width_, 0.0);
  }

  void Orthonormalize() {
    for (int first = 0; first < count_; first += kSpan) {
      const int last = std::min(count_, first + kSpan);
      std::fill(std::copy(Row(first), Row(last), drawn_.begin()), drawn_.end(), 0.0);
      RemoveCommon(first, last, 0, first, first);
      for (int begin = first; begin < last; begin += kBlock) {
        const int end = std::min(last, begin + kBlock);
        RemoveCommon(begin, end, first, begin, first);
        OrthonormalizeBlock(begin, end);
      }
    }
  }

  /// The vectors without their padding.
  std::vector<double> Release() {
    for (std::ptrdiff_t v = 1; v < count_ && n_ < width_; ++v)
      std::copy_n(q_.begin() + v * width_, n_, q_.begin() + v * n_);
    q_.resize(static_cast<std::size_t>(count_) * n_);
    return std::move(q_);
  }

 private:
  double* Row(int v) { return q_.data() + v * width_; }

  /// Takes off vectors [begin, end) what they, as they were drawn, have in common with vectors
  /// [from, to). `first`: of their span.
  void RemoveCommon(int begin, int end, int from, int to, int first) {
    if (from == to) return;
    const int rows = Up(end - begin, kProductRows);
    const DoubleMatrix before{Row(from), width_}, mine{Row(begin), width_};
    const DoubleMatrix drawn{drawn_.data() + (begin - first) * width_, width_};
    const DoubleMatrix along{along_.data(), rows_};
    std::fill_n(along_.begin(), rows * rows_, 0.0);
    Multiply({rows, to - from, n_, 1.0, drawn, before, true, along}, team_, set_);
    Multiply({rows, static_cast<int>(width_), to - from, -1.0, along, before, false, mine}, team_,
             set_);
  }

  /// Modified Gram-Schmidt over vectors [begin, end).
  void OrthonormalizeBlock(int begin, int end) {
    const int n = Up(n_, 4);
    for (int u = begin; u < end; ++u) {
      double* const y = Row(u);
      const double length = std::sqrt(Dot(y, y, n));
      for (int i = 0; i < n; ++i) y[i] /= length;
      team_.Run([&](int share) {
        for (int v = u + 1 + share; v < end; v += team_.size()) {
          double* const x = Row(v);
          const double along = Dot(x, y, n);
          for (int i = 0; i < n; ++i) x[i] -= along * y[i];
        }
      });
    }
  }

  const int count_, n_;
  const std::ptrdiff_t width_, rows_;
  ThreadTeam& team_;
  const KernelSet set_;
  std::vector<double> q_;
  std::vector<double> drawn_;  ///< the present span's, as they were
  std::vector<double> along_;  ///< scratch: products with those before
};

}  // namespace

std::vector<double> OrthonormalVectors(int count, int n, Random& random, ThreadTeam& team,
                                       KernelSet set) {
  Vectors vectors(count, n, team, set);
  vectors.Draw(random);
  vectors.Orthonormalize();
  return vectors.Release();
}

}  // namespace murmurate
