// RecurrentLayer: an LSTM or a GRU over the whole sequences of a minibatch; backward is
// backpropagation through all their steps. Inside server/network only.
#pragma once

#include <memory>
#include <vector>

#include "server/network/network_layer.h"

namespace murmurate {

class RecurrentLayer {
 public:
  virtual ~RecurrentLayer() = default;

  virtual void Forward(const float* parameters) = 0;
  /// From d_output to d_input and the parameters' gradient.
  virtual void Backward(const float* parameters, float* gradient) = 0;

  const LayerRows& out() const { return out_; }
  /// Contiguous, [max_rows][units] and [max_rows][in].
  float* d_output(int row) { return d_output_.data() + std::ptrdiff_t{row} * hidden_; }
  float* d_input(int row) { return d_input_.data() + std::ptrdiff_t{row} * inputs_; }
  double flops() const { return flops_; }  ///< of one row, forward and backward

 protected:
  /// `parts`: blocks of [hidden] that a state has; state0 and state_out begin at `state_offset` of
  /// an agent's state of `state_floats`.
  RecurrentLayer(const PlannedLayer& planned, const LayerRows* in, int parts, int state_offset,
                 int state_floats, LayerRoom* room);
  const std::uint8_t* First() const;
  /// state0 of this layer, gathered; null for zeros.
  const float* GatherState();
  float* state() { return room_->sequences.state_out == nullptr ? nullptr : state_out_.data(); }
  void ScatterState();

  const int inputs_, hidden_;
  const LayerRows* const in_;
  LayerRoom* const room_;
  const std::size_t input_weight_, hidden_weight_, bias_;
  LayerRows out_;
  AlignedFloats output_, kept_;

 private:
  const int width_, state_offset_, state_floats_;
  const double flops_;
  AlignedFloats d_output_, d_input_, state_in_, state_out_;
  std::vector<std::uint8_t> nowhere_;  ///< `first` when the caller has none
};

std::unique_ptr<RecurrentLayer> MakeRecurrentLayer(const PlannedLayer& planned, const LayerRows* in,
                                                   int state_offset, int state_floats,
                                                   LayerRoom* room);

}  // namespace murmurate
