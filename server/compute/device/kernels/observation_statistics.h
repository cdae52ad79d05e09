#pragma once

#include "server/compute/device/calls/observation_statistics.h"
#include "server/compute/device/kernel_language.h"
#include "server/compute/device/kernels/loss.h"

namespace murmurate {

/// A block has several rows of the batch at a time, a lane of threads each.
struct ObservedPlace {
  unsigned column, lane, lanes;  ///< column of kObservedColumns; lane of the rows
  int number;                    ///< of the numbers that count; may be behind the last
};

MURMURATE_DEVICE ObservedPlace PlaceHere() {
  const unsigned column = Thread() % kObservedColumns;
  return {column, Thread() / kObservedColumns, Threads() / kObservedColumns,
          static_cast<int>(GridRow() * kObservedColumns + column)};
}

/// Beyond it a square may be no float any more.
MURMURATE_DEVICE double ObservedNumber(const ObservedNumbers& numbers, std::size_t row,
                                       int number) {
  constexpr float kMost = 1e18f;
  const float x = numbers.observation[row * numbers.row_words + numbers.word[number]];
  return double{fmaxf(fminf(x, kMost), -kMost)};
}

/// The row of the batch that is the i-th of the plan's trajectories, counted with padding.
MURMURATE_DEVICE std::size_t PlannedRow(const ObservedNumbers& numbers, std::size_t i) {
  const std::size_t length = static_cast<std::size_t>(numbers.length);
  return static_cast<std::size_t>(numbers.plan.slots[i / length]) * length + i % length;
}

/// Sums of `lanes` numbers each column into the first lane.
MURMURATE_DEVICE double SumOverLanes(double own, const ObservedPlace& place, double* all) {
  SyncThreads();  // an earlier sum has been read
  all[Thread()] = own;
  SyncThreads();
  double sum = 0.0;
  for (unsigned lane = 0; lane < place.lanes; ++lane)
    sum += all[lane * kObservedColumns + place.column];
  return sum;
}

MURMURATE_KERNEL(SumObservations) {
  MURMURATE_SHARED(double, all, 256);
  const ObservedPlace place = PlaceHere();
  const bool there = place.number < call.numbers.count;
  const std::size_t rows =
      static_cast<std::size_t>(call.numbers.plan.counts->slots) * call.numbers.length;
  double sum = 0.0, count = 0.0;
  for (std::size_t i = Block() * place.lanes + place.lane; i < rows; i += Blocks() * place.lanes) {
    const std::size_t row = PlannedRow(call.numbers, i);
    if (!(call.numbers.weight[row] > 0.0f)) continue;
    if (there) sum += ObservedNumber(call.numbers, row, place.number);
    count += 1.0;
  }
  sum = SumOverLanes(sum, place, all);
  count = SumOverLanes(count, place, all);
  if (place.lane != 0) return;
  if (there)
    call.parts.sums[static_cast<std::size_t>(Block()) * call.numbers.count + place.number] = sum;
  if (place.number == 0) call.parts.rows[Block()] = count;
}

/// The sum over blocks of what they left for a number.
MURMURATE_DEVICE double SumOfBlocks(const double* parts, int blocks, int stride, int number) {
  double sum = 0.0;
  for (int block = 0; block < blocks; ++block)
    sum += parts[static_cast<std::size_t>(block) * stride + number];
  return sum;
}

MURMURATE_KERNEL(SquareObservations) {
  MURMURATE_SHARED(double, all, 256);
  const ObservedPlace place = PlaceHere();
  const ObservedNumbers& numbers = call.numbers;
  const bool there = place.number < numbers.count;
  const int blocks = static_cast<int>(Blocks());
  const double counted = SumOfBlocks(call.parts.rows, blocks, 1, 0);
  if (counted == 0.0) return;
  const double mean =
      there ? SumOfBlocks(call.parts.sums, blocks, numbers.count, place.number) / counted : 0.0;
  const std::size_t rows = static_cast<std::size_t>(numbers.plan.counts->slots) * numbers.length;
  double squares = 0.0;
  for (std::size_t i = Block() * place.lanes + place.lane; i < rows; i += Blocks() * place.lanes) {
    const std::size_t row = PlannedRow(numbers, i);
    if (!there || !(numbers.weight[row] > 0.0f)) continue;
    const double d = ObservedNumber(numbers, row, place.number) - mean;
    squares += d * d;
  }
  squares = SumOverLanes(squares, place, all);
  if (there && place.lane == 0)
    call.parts.squares[static_cast<std::size_t>(Block()) * numbers.count + place.number] = squares;
}

MURMURATE_KERNEL(MergeObservations) {
  const double rows = SumOfBlocks(call.parts.rows, call.blocks, 1, 0);
  if (rows == 0.0) return;
  const double before = double{*call.rows}, total = before + rows;
  for (int i = static_cast<int>(Thread()); i < call.count; i += static_cast<int>(Threads())) {
    const double sum = SumOfBlocks(call.parts.sums, call.blocks, call.count, i);
    const double squares = SumOfBlocks(call.parts.squares, call.blocks, call.count, i);
    const double mean = double{call.mean[i]}, delta = sum / rows - mean;
    const double m2 =
        double{call.variance[i]} * before + squares + delta * delta * before * rows / total;
    call.mean[i] = static_cast<float>(mean + delta * rows / total);
    call.variance[i] = static_cast<float>(m2 / total);
  }
  SyncThreads();  // all have read the count
  if (Thread() == 0) *call.rows = static_cast<float>(fmin(total, 16777216.0));
}

}  // namespace murmurate
