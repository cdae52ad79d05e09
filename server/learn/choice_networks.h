// ChoiceNetworks: the networks that give the value of each choice of an action (choice_values.h): the
// policy, by whose best output agents choose, and networks that share its layers:
//
//   policy      p_c, an output for each choice
//   value       v, of the state; `dueling` (Wang et al. 2016, arXiv 1511.06581)
//   quantiles   z_c,i, N for each choice; `quantiles` (QR-DQN: Dabney et al. 2018, arXiv 1710.10044)
//
//   q_c,i = p_c + (v - mean of p over the variable's choices) + (z_c,i - mean of z_c over i)
//
// each bracket where its network is there. The mean of q_c over i differs from p_c by a number that
// is the same for all choices of a variable: the best by one is the best by the other, and players
// receive the policy alone, as large as without the others.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "server/learn/algorithm_settings.h"
#include "server/learn/choice_values.h"
#include "server/network/single_network.h"
#include "shared/core/aligned_floats.h"

namespace murmurate {

class ChoiceNetworks {
 public:
  /// The networks that `spec`, of a policy and its value, is learned with: the policy, those of
  /// `value` and `quantiles` that the settings want, and a target of each.
  static ModelSpec AddTo(ModelSpec spec, const AlgorithmSettings& settings);

  /// Those that learn, or their targets; of a spec that AddTo made. `layout` must stay.
  ChoiceNetworks(const ModelSpec& spec, const ParameterLayout& layout, bool targets, int max_rows);

  const ChoiceValues& choices() const { return choices_; }
  std::size_t outputs() const { return static_cast<std::size_t>(network_.outputs()); }
  /// N: the values of a choice; 1 without `quantiles`.
  std::size_t quantiles() const { return quantiles_; }

  /// Leaves scores() and values(), and what Backward needs: `observations` must stay until then.
  void Forward(std::span<const float> parameters, const float* observations, int rows);
  /// Leaves scores() alone.
  void ForwardScores(std::span<const float> parameters, const float* observations, int rows);
  /// [rows][outputs()]: what choices are compared by.
  const float* scores() const { return scores_.data(); }
  /// [rows][outputs()][quantiles()]: q.
  const float* values() const { return values_.data(); }

  /// Room for the gradient of a loss by values().
  float* d_values() { return d_values_.data(); }
  /// Adds that loss's gradient by the parameters, after Forward.
  void Backward(std::span<const float> parameters, std::span<float> gradient);

 private:
  ChoiceNetworks(const ModelSpec& spec, const ParameterLayout& layout,
                 const std::vector<std::string>& names, int max_rows);
  void JoinRow(std::size_t row);
  void SplitRow(std::size_t row);

  const ChoiceValues choices_;
  SingleNetwork network_;
  const bool dueling_;
  const std::size_t quantiles_;
  int rows_ = 0;                   ///< of the last Forward
  AlignedFloats scores_, values_;  ///< [rows][outputs], [rows][outputs][quantiles]
  AlignedFloats state_, spread_;   ///< [rows]: v; as values_: z
  AlignedFloats d_scores_, d_values_, d_state_;
  std::vector<float*> heads_, d_heads_;  ///< where each head's outputs and their gradient are
};

}  // namespace murmurate
