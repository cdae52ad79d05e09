// TwinCritics: two networks that give values, learned apart, and a target for each: where a value is
// built upon, the smaller of both counts (Fujimoto et al. 2018, arXiv 1802.09477). They give a value
// for each choice, or read the action and give one (Q(s, a)).
#pragma once

#include <array>
#include <span>

#include "server/network/single_network.h"
#include "shared/core/aligned_floats.h"

namespace murmurate {

class TwinCritics {
 public:
  /// The networks that `spec`, of a policy and its value, is learned with: the policy, q1, q2 with
  /// the layers of the value, target_q1, target_q2. `outputs` 0: the action is read.
  static ModelSpec AddTo(const ModelSpec& spec, int outputs);

  TwinCritics(const ModelSpec& spec, const ParameterLayout& layout, int max_rows);

  int outputs() const { return critics_[0].outputs(); }

  /// Writes the smaller of both targets' outputs, each by itself: [rows][outputs()].
  void FindTargets(std::span<const float> parameters, const void* observations, int rows,
                   const float* actions, float* smaller);
  /// Leaves both outputs, and what Backward needs.
  void Forward(std::span<const float> parameters, const void* observations, int rows,
               const float* actions);
  /// The same of q1 alone; BackwardToActions is then called without `both`.
  void ForwardFirst(std::span<const float> parameters, const void* observations, int rows,
                    const float* actions);
  const float* values(int critic) const { return values_[critic].data(); }  ///< [rows][outputs()]
  /// Room for the gradient of a loss by values().
  float* d_values(int critic) { return d_values_[critic].data(); }
  /// Adds those of both to `gradient`.
  void Backward(std::span<const float> parameters, std::span<float> gradient);

  /// Critics of one output, whose targets in the last Forward's rows are these: the mean distance of
  /// both from that of row i; and the gradient, added, of w/2 (q - target)^2, the mean over rows.
  double Distance(std::span<const float> targets, std::size_t i) const;
  struct Fit {
    double loss = 0, value = 0;  ///< sums over the rows of the means of both critics
  };
  Fit AddFit(std::span<const float> parameters, std::span<const float> targets,
             const float* weights, std::span<float> gradient);

  /// Writes the sum of both critics' gradients by the actions, without those of their parameters,
  /// [rows][action features]; a second critic whose d_values are unwanted is left out by `both`.
  void BackwardToActions(std::span<const float> parameters, bool both, float* d_actions);

 private:
  std::array<SingleNetwork, 2> critics_, targets_;
  std::array<AlignedFloats, 2> values_, d_values_;  ///< [rows][outputs]
  AlignedFloats other_;                             ///< [rows][outputs], [rows][action features]
  int rows_ = 0;                                    ///< of the last Forward
};

}  // namespace murmurate
