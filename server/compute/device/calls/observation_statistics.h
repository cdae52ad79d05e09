// The calls of observation statistics: UpdateObservationStatistics of
// server/network/actor_critic.h on a device, merged once a batch.
#pragma once

#include <cstdint>

#include "server/compute/device/calls/returns.h"
#include "server/compute/device/kernel_list.h"

namespace murmurate {

/// Numbers of an observation that a block has at a time.
inline constexpr unsigned kObservedColumns = 32;

/// The float32 inputs of the rows that count.
struct ObservedNumbers {
  DevicePlan plan;
  int length;                ///< T
  const float* observation;  ///< [batch rows][row_words]
  const float* weight;       ///< [batch rows]; above 0: the row counts
  int row_words, count;
  const std::int32_t* word;  ///< [count] where in a row each number lies
};

/// Sums that blocks leave for those that follow.
struct ObservationParts {
  double *sums, *squares;  ///< [blocks][count]
  double* rows;            ///< [blocks]
};

/// parts.sums and rows; a grid row for each kObservedColumns numbers, 256 threads.
struct SumObservationsCall {
  static constexpr KernelId kKernel = KernelId::kSumObservations;
  ObservedNumbers numbers;
  ObservationParts parts;
};

/// parts.squares, of distances from the mean; the same grid.
struct SquareObservationsCall {
  static constexpr KernelId kKernel = KernelId::kSquareObservations;
  ObservedNumbers numbers;
  ObservationParts parts;
};

/// Merges them into the statistics: one block.
struct MergeObservationsCall {
  static constexpr KernelId kKernel = KernelId::kMergeObservations;
  ObservationParts parts;
  int blocks, count;
  float *rows, *mean, *variance;  ///< of the statistics section
};

}  // namespace murmurate
