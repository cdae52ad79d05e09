// RecurrentLayer: an LSTM or a GRU over the whole sequences of a minibatch; backward is
// backpropagation through all their steps. Inside server/network only.
#pragma once

#include <vector>

#include "server/compute/recurrent_sequence.h"
#include "server/network/network_layer.h"

namespace murmurate {

class RecurrentLayer {
 public:
  /// An agent's state has `state_floats` numbers, those of other layers among them.
  RecurrentLayer(const PlannedLayer& planned, const LayerRows* in, int state_floats,
                 LayerRoom* room);
  RecurrentLayer(const RecurrentLayer&) = delete;
  RecurrentLayer& operator=(const RecurrentLayer&) = delete;

  void Forward(const float* parameters);
  /// Computes d_input and the parameters' gradient from d_output.
  void Backward(const float* parameters, float* gradient);

  const LayerRows& out() const { return out_; }
  /// These are contiguous, [max_rows][units] and [max_rows][in].
  float* d_output(int row) { return d_output_.data() + std::ptrdiff_t{row} * hidden_; }
  float* d_input(int row) { return d_input_.data() + std::ptrdiff_t{row} * inputs_; }
  double flops() const { return flops_; }  ///< of one row, forward and backward

 private:
  const std::uint8_t* First() const;
  RecurrentKept Kept();
  /// state0 of this layer, gathered; null for zeros.
  const float* GatherState();
  void ScatterState();

  const RecurrentCell cell_;
  const int inputs_, hidden_;
  const LayerRows* const in_;
  LayerRoom* const room_;
  const std::size_t input_weight_, hidden_weight_, bias_;
  const std::size_t hidden_bias_;  ///< of a cell with a candidate
  LayerRows out_;
  const int width_, state_offset_, state_floats_;
  const double flops_;
  AlignedFloats output_, kept_, d_output_, d_input_, state_in_, state_out_;
  std::vector<std::uint8_t> nowhere_;  ///< `first` when the caller has none
};

}  // namespace murmurate
