// Matrix products in double whose bits depend on the numbers alone: not on the instruction set, the
// threads or how the work was cut; inside server/network only.
#pragma once

#include <cstddef>

#include "shared/compute/dense_kernels.h"
#include "shared/core/thread_team.h"

namespace murmurate {

struct DoubleMatrix {
  double* values;
  std::ptrdiff_t stride;  ///< from a row to the next
};

/// c [rows][columns] += factor a [rows][depth] b, b [depth][columns] or, `transposed`,
/// [columns][depth]. Rows are a multiple of kProductRows, columns of kProductColumns. Each number
/// of c is the sum of its products in the order of depth, kProductDepth of them at a time, no
/// product fused with its sum.
struct OrderedProduct {
  int rows, columns, depth;
  double factor;
  DoubleMatrix a, b;
  bool transposed;
  DoubleMatrix c;
};
inline constexpr int kProductRows = 4;
inline constexpr int kProductColumns = 16;
inline constexpr int kProductDepth = 128;

/// Each thread of `team` makes its share of the columns.
void Multiply(const OrderedProduct& product, ThreadTeam& team, KernelSet set);

}  // namespace murmurate
