#include "server/device/small_network_cost.h"

#include <algorithm>
#include <cmath>

#include "server/compute/device/calls/small_network.h"

namespace murmurate {
namespace {

constexpr double kMultiprocessors = 132;
constexpr double kLaunchSeconds = 2e-6;  ///< of a node of a graph, with what the next waits for
constexpr double kMemoryRate = 4e12, kCacheRate = 5.5e12;  ///< bytes a second
constexpr double kFp32Rate = 0.5e12;                       ///< of a multiprocessor, by data sheet
/// Of that rate: 16 of 22 instructions of SmallForward are multiplications, and there are barriers.
constexpr double kWholeShare = 0.55;
constexpr double kThreadsThatFill = 256;  ///< a multiprocessor, as a block alone
/// Of the data sheet's rates, that products of these shapes reach.
constexpr double kProductShare = 0.7, kTensorShare = 0.5;
constexpr double kTf32Times = 6, kBf16Times = 12;  ///< the rate in 32 bits

double ProductRate(DevicePrecision precision) {
  const double rate = kMultiprocessors * kFp32Rate;
  if (precision == DevicePrecision::kFp32) return rate * kProductShare;
  return rate * kTensorShare * (precision == DevicePrecision::kTf32 ? kTf32Times : kBf16Times);
}

/// Floats of the weights; those of layers that hand a gradient on.
struct Weights {
  double all = 0, inner = 0;
};
Weights WeightsOf(const CountedNetwork& network) {
  Weights weights;
  for (const CountedLayer& layer : network.layers) {
    const double count = double{1} * layer.in * layer.out;
    weights.all += count;
    if (!layer.first) weights.inner += count;
  }
  return weights;
}

/// SmallForward or SmallBackward, whose blocks read the weights of one tower.
double TileSeconds(const CountedNetwork& network, double rows, double weights) {
  const double blocks = std::ceil(rows / kSmallRows) * network.towers;
  const double waves = std::max(1.0, blocks / kMultiprocessors);
  const double tower = weights / network.towers;
  const double busy = std::max(waves, kThreadsThatFill / SmallThreads(network.widest));
  return std::max(2 * kSmallRows * tower * busy / (kFp32Rate * kWholeShare),
                  blocks * tower * sizeof(float) / kCacheRate);
}

}  // namespace

double SecondsAsAWhole(const CountedNetwork& network, double rows) {
  const Weights weights = WeightsOf(network);
  double given = 0;
  for (const CountedLayer& layer : network.layers) given += layer.out;
  // y written, read twice; dz written, read.
  const double memory_s = 5 * sizeof(float) * given * rows / kMemoryRate;
  const double sums_s = 2 * rows * weights.all / (kMultiprocessors * kFp32Rate * kWholeShare) +
                        2 * sizeof(float) * network.weight_parts * weights.all / kCacheRate;
  const double arithmetic_s =
      TileSeconds(network, rows, weights.all) + TileSeconds(network, rows, weights.inner) + sums_s;
  return 4 * kLaunchSeconds + std::max(arithmetic_s, memory_s);
}

double SecondsByLayers(const CountedNetwork& network, double rows, DevicePrecision precision) {
  const Weights weights = WeightsOf(network);
  double launches = 0, product_floats = 0, passed_floats = 0;
  for (const CountedLayer& layer : network.layers) {
    launches += layer.first ? 5 : 6;
    product_floats += (layer.first ? 2 : 3) * (double{1} * layer.in + layer.out);
    passed_floats += 4 * layer.out;  // bias and activation, slope and sums: each reads and writes
  }
  const double arithmetic_s = 2 * rows * (2 * weights.all + weights.inner) / ProductRate(precision);
  const double bytes_a_float = sizeof(float) * rows;
  return launches * kLaunchSeconds +
         std::max(arithmetic_s, product_floats * bytes_a_float / kMemoryRate) +
         passed_floats * bytes_a_float / kMemoryRate;
}

}  // namespace murmurate
