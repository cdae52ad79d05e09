// NetworkTower: one network of a plan, from the sources to its features; inside server/network
// only. Recurrent layers cut it into stages: a stage takes rows a chunk at a time, a recurrent
// layer between two of them takes all rows of the minibatch.
//
//   source 0 -> [pictures] [vectors] -+
//   source 1 -> [pictures] [vectors] -+- joined -> [stage 0] LSTM [stage 1] ... -> features
//   action, if it is read ------------+
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/network/layer_chain.h"
#include "server/network/observation_sources.h"
#include "server/network/recurrent_layer.h"

namespace murmurate {

class NetworkTower {
 public:
  NetworkTower(const NetworkPlan& plan, const ObservationSources& sources, int chunk_rows,
               LayerRoom* room);

  int stages() const { return static_cast<int>(stages_.size()); }
  const LayerRows* features() const { return stages_.back()->top(); }
  Activation top_activation() const { return stages_.back()->top_activation(); }
  /// Something below the heads learns.
  bool has_gradient() const { return stages_.back()->has_gradient(); }
  double flops() const;

  /// All rows, through the layer before stage `stage`: 1 or more.
  void Recur(int stage, const float* parameters);
  /// Before the Forward of a network that reads the action: [rows][action_features], of row 0 on.
  void ReadActions(const float* actions) { actions_ = actions; }
  void Forward(int stage, const float* parameters, int first, int count);

  void TransposeWeights(const float* parameters);
  /// One chunk of a stage, the last stage first. call.dy: of the features,
  /// `activation_gradient_applied` as in LayerChain; other stages find theirs. The recurrent layer
  /// before a stage follows when all its chunks are done. d_actions [call.count][action_features]:
  /// room for the gradient of the actions, in stage 0; null: not wanted.
  void Backward(int stage, const LayerBackward& call, bool activation_gradient_applied,
                float* d_actions = nullptr);
  void RecurBack(int stage, const float* parameters, float* gradient);

 private:
  struct Encoder {
    std::unique_ptr<LayerChain> pictures, vectors;
    int features = 0, first_feature = 0;
    bool has_gradient() const { return vectors->has_gradient(); }
  };

  void AddEncoder(const PlannedInput& input, const LayerRows* rows);
  void AddStages(const NetworkPlan& plan, const LayerRows* in, bool learns);
  void Join(int first, int count);
  bool joins() const { return joined_.size() > 0; }
  void BackwardEncoder(const Encoder& encoder, LayerBackward call);
  void BackwardJoined(LayerBackward call, float* d_actions);

  LayerRoom* const room_;
  const int chunk_rows_, joined_count_, action_count_;
  const float* actions_ = nullptr;
  bool encoders_learn_ = false;
  std::vector<Encoder> encoders_;
  LayerRows joined_rows_;   ///< of several inputs, or of one and the action
  AlignedFloats joined_;    ///< [max_rows][joined], of the same
  AlignedFloats d_joined_;  ///< [chunk_rows][joined], of the same
  std::vector<std::unique_ptr<LayerChain>> stages_;
  std::vector<std::unique_ptr<RecurrentLayer>> recurrent_;  ///< i: between stages i and i + 1
};

}  // namespace murmurate
