// How the threads of a kernel go over what they work on.
#pragma once

#include "server/compute/device/kernel_language.h"

namespace murmurate {

/// body(number, row, column) for each number of [rows][columns], all threads together. One division
/// a thread.
template <typename Body>
MURMURATE_DEVICE void EachOfMatrix(std::size_t rows, int columns, const Body& body) {
  const std::size_t width = static_cast<std::size_t>(columns), count = rows * width;
  std::size_t row = GlobalThread() / width, column = GlobalThread() % width;
  const std::size_t more_rows = AllThreads() / width, more_columns = AllThreads() % width;
  for (std::size_t i = GlobalThread(); i < count; i += AllThreads()) {
    body(i, row, static_cast<int>(column));
    row += more_rows;
    column += more_columns;
    if (column < width) continue;
    column -= width;
    ++row;
  }
}

/// The sum over the warp, in each of its threads. `parts`: a shared array with a number for each
/// warp, of this sum alone. Every thread of the block comes here.
template <typename T>
MURMURATE_DEVICE T SumOverWarp(T value, T* parts) {
  for (unsigned distance = kWarp / 2; distance > 0; distance /= 2) {
    const T other = ShuffleDown(value, distance);
    if (Thread() % kWarp + distance < kWarp) value += other;
  }
  if (Thread() % kWarp == 0) parts[Thread() / kWarp] = value;
  SyncThreads();
  return parts[Thread() / kWarp];
}

/// The sum over the block's threads of one place in their warps, in each of them. `parts`: a shared
/// array with a number for each thread, of this sum alone.
MURMURATE_DEVICE double SumOverWarps(double value, double* parts) {
  parts[Thread()] = value;
  SyncThreads();
  double sum = 0;
  for (unsigned thread = Thread() % kWarp; thread < Threads(); thread += kWarp)
    sum += parts[thread];
  return sum;
}

}  // namespace murmurate
