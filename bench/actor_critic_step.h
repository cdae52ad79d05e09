// ActorCriticStep: one whole training step of an actor-critic (forward, policy loss, backward,
// clip, Adam) on random rows, to be measured. Recurrent models see sequences of 32 steps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/network/action_head_rows.h"
#include "server/network/actor_critic.h"
#include "shared/core/aligned_floats.h"
#include "shared/model/model_spec.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {

class ActorCriticStep {
 public:
  /// The action is one choice. `threads`: ActorCritic's; the optimizer is on the caller's.
  ActorCriticStep(const ModelSpec& spec, int rows, int threads = 1);

  void Run();
  double flops() const { return network_.flops_per_row() * rows_; }

 private:
  ActorCritic network_;
  ActionHeadRows head_;
  int rows_;
  std::uint64_t t_ = 0;
  AlignedFloats parameters_, gradient_, first_, second_;
  Sequences sequences_;  // of recurrent models
  std::vector<std::uint32_t> observations_;
  std::vector<float> logits_, values_, d_logits_, d_values_;
  std::vector<float> log_prob_, advantage_, target_, weight_;
  std::vector<float> new_log_prob_, entropy_, d_log_prob_, d_entropy_;
  std::vector<std::int32_t> action_;
};

/// `observations` numbers, two dense layers of `units` (tanh), a critic of its own.
PolicyAndValue DenseModel(int observations, int units, int actions);
/// 84x84x4 bytes, the Nature-CNN (Mnih et al. 2015), 6 choices.
ModelSpec NatureCnnModel();
/// 17 numbers, 64 units, an LSTM of 128, 6 choices.
ModelSpec LstmModel();

}  // namespace murmurate
