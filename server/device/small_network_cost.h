// What a step of a dense network costs, forward and backward, on a large GPU (132 multiprocessors, as
// H100 and H200 have): as a whole (calls/small_network.h), and layer by layer by a library. Counted,
// not measured; a network is computed in the way that costs less.
//
//   as a whole       4 launches; 16 rows a block, so few rows leave multiprocessors idle; 32 bits
//   layer by layer   5 or 6 launches a layer; products at a library's rate, which fewer bits of factors
//                    raise; activations and sums of biases read and write every number once more
//
// As a whole costs less up to so many rows of a minibatch, for 17 inputs and two layers in both trunks:
//
//   units       64          128         256        512
//   fp32        always      always      73,000     5,300
//   tf32        always      54,000      4,400      never, but it is within 1.1 times up to 1,024
#pragma once

#include <vector>

#include "server/compute/device/device.h"

namespace murmurate {

/// A dense layer; one that is `first` of its network's hands no gradient on.
struct CountedLayer {
  int in, out;
  bool first;
};

struct CountedNetwork {
  int towers = 1;           ///< with layers of their own
  int widest = 1;           ///< of what a layer gives
  double weight_parts = 1;  ///< into which SmallWeights' sums are cut
  std::vector<CountedLayer> layers = {};
};

double SecondsAsAWhole(const CountedNetwork& network, double rows);
double SecondsByLayers(const CountedNetwork& network, double rows, DevicePrecision precision);

}  // namespace murmurate
