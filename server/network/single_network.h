// SingleNetwork: one named network of a model made runnable on the learner: forward and backward
// over the model's flat block, on the calling thread. ActorCritic runs a policy and its value
// together; this is for algorithms whose networks are run one by one (a policy, then its target).
//
// Networks that share its layers go with it: one pass through the layers, then a head for each.
// Networks whose layers recur have no place here. One that reads the action (a critic, Q(s, a)) gets
// it beside each row as ActionLayout::encoded_count() numbers, and gives the gradient of its outputs
// by them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/network/dense_layer.h"
#include "server/network/network_tower.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {

class SingleNetwork {
 public:
  /// `layout` must stay. What up to `max_rows` rows leave is allocated here and nowhere else.
  /// `sharing`: the networks whose layers those of `network` are.
  SingleNetwork(const ModelSpec& spec, const ParameterLayout& layout, std::string_view network,
                int max_rows, const std::vector<std::string>& sharing = {});

  int outputs(std::size_t head = 0) const { return heads_[head].outputs; }
  int action_features() const { return action_features_; }  ///< 0: it does not read the action

  /// observations: `rows` raw rows of the ObservationLayout of StackedObservation(spec) -> outputs
  /// [rows][outputs()]. Keeps what Backward needs: `observations` must stay until then. `actions`:
  /// [rows][action_features()], null of a network that reads none.
  void Forward(std::span<const float> parameters, const void* observations, int rows,
               float* outputs, const float* actions = nullptr) {
    Forward(parameters, observations, rows, std::span(&outputs, 1), actions);
  }
  /// The same for the heads of those that share, too, in their order: a block [rows][outputs(head)]
  /// for each. Where there are fewer blocks than heads the last heads are left out.
  void Forward(std::span<const float> parameters, const void* observations, int rows,
               std::span<float* const> outputs, const float* actions = nullptr);
  /// Adds to `gradient`, of all trained parameters (empty: not wanted), that of a loss whose
  /// gradient by the outputs of the last Forward is d_outputs [rows][outputs()]. Writes the loss's
  /// gradient by the actions to d_actions [rows][action_features()], unless it is null.
  void Backward(std::span<const float> parameters, const float* d_outputs,
                std::span<float> gradient, float* d_actions = nullptr) {
    Backward(parameters, std::span(&d_outputs, 1), gradient, d_actions);
  }
  /// The same of a loss by all heads whose outputs the last Forward wrote.
  void Backward(std::span<const float> parameters, std::span<const float* const> d_outputs,
                std::span<float> gradient, float* d_actions = nullptr);

 private:
  struct Head {
    int outputs;
    std::unique_ptr<DenseLayer> layer;
  };

  SingleNetwork(const ModelSpec& spec, const NetworkPlan& plan, const ParameterLayout& layout,
                int max_rows);
  void AddHead(const NetworkPlan& plan);
  template <typename Visit>
  void EachChunk(Visit visit) const;
  float* BackwardHeads(std::span<const float* const> d_outputs, LayerBackward call);

  const int action_features_, chunk_rows_;
  LayerRoom room_;
  ObservationSources sources_;
  NetworkTower tower_;
  std::vector<Head> heads_;  ///< the network's own, then those of the networks that share
  int rows_ = 0;             ///< of the last Forward
};

}  // namespace murmurate
