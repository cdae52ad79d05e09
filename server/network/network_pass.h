// NetworkPass: policy and value of a spec with what they keep of the rows that go through them:
// the work of one thread; inside server/network only.
#pragma once

#include <memory>

#include "server/network/dense_layer.h"
#include "server/network/network_tower.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {

class NetworkPass {
 public:
  /// `layout` must stay. What up to `max_rows` rows leave is allocated here and nowhere else.
  NetworkPass(const ModelSpec& spec, const ParameterLayout& layout, int max_rows);

  /// Calls as ActorCritic's.
  void Forward(const float* parameters, const void* observations, int rows, float* logits,
               float* values, const Sequences* sequences);
  void Backward(const float* parameters, const float* d_logits, const float* d_values,
                float* gradient);
  double flops() const;  ///< of one row, forward and backward
  int state_floats() const { return state_floats_; }

 private:
  NetworkPass(const ModelSpec& spec, const NetworkPlan& plan, const NetworkPlan& value,
              const ParameterLayout& layout, int max_rows);
  NetworkTower& value_tower() { return value_ != nullptr ? *value_ : policy_; }
  template <typename Visit>
  void EachChunk(int count, Visit visit) const;
  void ForwardStage(const float* parameters, int stage, int count, float* logits, float* values);
  void BackwardTop(LayerBackward call, float* d_logits, float* d_values);
  void BackwardStage(LayerBackward call, int stage, float* d_logits, float* d_values);

  const int outputs_, state_floats_, chunk_rows_;
  LayerRoom room_;
  ObservationSources sources_;
  NetworkTower policy_;
  std::unique_ptr<NetworkTower> value_;  ///< none when it shares the policy's
  std::unique_ptr<DenseLayer> policy_head_, value_head_;
  int rows_ = 0;  ///< of the last Forward
};

}  // namespace murmurate
