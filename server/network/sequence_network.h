// SequenceNetwork: one named network of a model made runnable over sequences of rows, on the calling
// thread: what SingleNetwork is for independent rows. Its recurrent layers go through each sequence
// step by step, and backward is backpropagation through all of its steps.
//
// A network that reads the action or shares another's layers has no place here.
#pragma once

#include <span>
#include <string_view>

#include "server/network/dense_layer.h"
#include "server/network/network_tower.h"
#include "server/network/sequences.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {

class SequenceNetwork {
 public:
  /// `layout` must stay. What up to `max_rows` rows leave is allocated here and nowhere else.
  SequenceNetwork(const ModelSpec& spec, const ParameterLayout& layout, std::string_view network,
                  int max_rows);

  int outputs() const { return outputs_; }
  int state_floats() const { return state_floats_; }  ///< of one sequence

  /// observations: the rows of `sequences` in their order, as SingleNetwork takes them -> outputs
  /// [rows][outputs()], null where the state after the sequences is all that is wanted. Keeps what
  /// Backward needs: observations and what `sequences` names must stay until then.
  void Forward(std::span<const float> parameters, const void* observations,
               const Sequences& sequences, float* outputs);
  /// Adds to `gradient`, of all trained parameters, that of a loss whose gradient by the outputs of
  /// the last Forward is d_outputs [rows][outputs()].
  void Backward(std::span<const float> parameters, const float* d_outputs,
                std::span<float> gradient);

 private:
  SequenceNetwork(const ModelSpec& spec, const NetworkPlan& plan, const ParameterLayout& layout,
                  int max_rows);
  template <typename Visit>
  void EachChunk(Visit visit) const;
  void BackwardTop(LayerBackward call);

  const int outputs_, state_floats_, chunk_rows_;
  LayerRoom room_;
  ObservationSources sources_;
  NetworkTower tower_;
  DenseLayer head_;
  int rows_ = 0;  ///< of the last Forward
};

}  // namespace murmurate
