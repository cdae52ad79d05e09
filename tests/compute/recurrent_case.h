// RecurrentCase: shapes, episode beginnings and the parts of the reference that LSTM and GRU share.
#pragma once

#include <cmath>
#include <vector>

#include "shared/compute/packed_weight.h"
#include "tests/compute/layer_check.h"

namespace murmurate {

struct RecurrentCase {
  int steps, rows, inputs, hidden;

  std::size_t floats(int width) const { return static_cast<std::size_t>(steps) * rows * width; }
  /// Some episodes begin at the first step, in the middle and at the last.
  std::vector<std::uint8_t> Firsts() const {
    std::vector<std::uint8_t> first(floats(1));
    for (std::size_t i = 0; i < first.size(); ++i) first[i] = i * i % 7 == 2;
    return first;
  }
};

inline const std::vector<RecurrentCase>& RecurrentCases() {
  static const std::vector<RecurrentCase> kCases = {{1, 1, 1, 1},   {6, 3, 5, 7},   {4, 1, 3, 17},
                                                    {3, 9, 16, 16}, {20, 1, 8, 33}, {2, 20, 1, 5}};
  return kCases;
}

using Row = std::vector<double>;

inline double Logistic(double x) { return 1 / (1 + std::exp(-x)); }

/// sum_i x[i] weight[i][column], weight [x.size()][columns].
inline double Product(const double* x, int count, const std::vector<double>& weight, int columns,
                      int column) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += x[i] * weight[i * columns + column];
  return sum;
}

inline std::vector<float> Packed(int depth, int columns, const std::vector<float>& weight,
                                 const DenseKernels& kernels) {
  std::vector<float> packed = Poisoned(weight.size());
  PackWeight(depth, columns, weight.data(), packed.data(), kernels);
  return packed;
}

}  // namespace murmurate
