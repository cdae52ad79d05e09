// ActorCritic: a ModelSpec made runnable on the learner: forward and backward over one flat block.
//
// y = head(trunk(normalize(x))); the critic has its own trunk when spec.separate_value, else it
// shares the policy's. The block is the caller's: parameters and gradient have the layout of
// ParameterLayout. One thread uses an object at a time; several objects may read the same
// parameters.
#pragma once

#include <memory>
#include <span>

#include "shared/core/random.h"
#include "shared/model/model_spec.h"

namespace murmurate {

class ActorCritic {
 public:
  /// Scratch for up to `max_rows` rows is allocated here and nowhere else.
  ActorCritic(const ModelSpec& spec, int max_rows);
  ~ActorCritic();
  ActorCritic(ActorCritic&&) noexcept;

  const ModelSpec& spec() const;
  const ParameterLayout& layout() const;

  /// observations [rows][D] raw -> logits [rows][n] and values [rows]; keeps what Backward needs.
  /// `observations` must stay valid and unchanged until Backward. rows <= max_rows.
  void Forward(std::span<const float> parameters, const float* observations, int rows,
               float* logits, float* values);

  /// Gradient of a scalar loss with respect to policy and critic sections, given its gradients with
  /// respect to the last Forward's outputs (d_logits [rows][n], d_values [rows]). Overwrites
  /// gradient[0 .. layout().trained_count()).
  void Backward(std::span<const float> parameters, const float* d_logits, const float* d_values,
                std::span<float> gradient);

  /// Floating-point operations (multiply and add counted apart) of one row forward plus backward.
  double flops_per_row() const;

 private:
  struct Workspace;
  std::unique_ptr<Workspace> workspace_;
};

/// Fills the block from a seed, the same numbers on every machine: trunk weights orthogonal with
/// gain sqrt(2), policy head orthogonal with gain 0.01, value head with gain 1, biases 0 (Saxe et
/// al. 2014; gains as in Schulman's PPO and "The 37 implementation details of PPO"), statistics:
/// count 0, mean 0, variance 1.
void InitializeParameters(const ModelSpec& spec, std::uint64_t seed, std::span<float> parameters);

/// Merges `rows` raw observations into the statistics section (Chan et al. 1979); rows with weight
/// 0 are left out.
void UpdateObservationStatistics(const ModelSpec& spec, std::span<const float> observations,
                                 std::span<const float> weights, std::span<float> parameters);

}  // namespace murmurate
