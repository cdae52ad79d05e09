// Ppo: the algorithm, made for late experience: a batch in, the gradients of its minibatches out.
//
//   TakeUp            one forward pass under the learner's parameters: V(x_t), pi(a_t|x_t)
//                     V-trace with pi/mu -> value targets; advantages without rho (returns.h)
//                     advantages normalized over the whole batch (padding excluded)
//   NextGradient ...  shuffled minibatches, `epochs` times: -min(r A, clip(r) A), r = pi_theta / mu
//
// The importance weight thus enters once, in r. Knows no socket, thread, optimizer, version or
// parameter home. Rows are visited in the order of (agent, first step), whatever order they arrived
// in, so the same experience gives the same bits. Nothing is allocated after construction.
//
// Rows that the model sees stacked are put together from the batch's rows: before an episode's
// first step the stack holds zeros, as it does in the client; before a trajectory's first step,
// what came with the trajectory (frames0).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "server/learn/learner.h"
#include "shared/core/aligned_floats.h"
#include "shared/core/random.h"
#include "shared/experience/frame_stack.h"
#include "shared/network/action_head_rows.h"
#include "shared/network/actor_critic.h"
#include "shared/network/ppo_action_loss.h"

namespace murmurate {

class Ppo {
 public:
  Ppo(const ModelSpec& spec, const PpoSettings& settings, std::uint64_t seed);

  /// Reads the rows with weight > 0; the others may hold anything. `batch` must stay unchanged
  /// until the last NextGradient. `environment_steps`: where the schedules are.
  void TakeUp(std::span<const float> parameters, const TrainingBatch& batch,
              std::uint64_t environment_steps);

  /// Writes the gradient of the next minibatch at `parameters`; false when the batch is used up
  /// (all epochs, no rows, or approx_kl of the next minibatch above 1.5 target_kl).
  bool NextGradient(std::span<const float> parameters, std::span<float> gradient);

  /// Losses (means over all minibatches since TakeUp), clip range and explained variance.
  void Report(LearnReport* report) const;

  /// The trajectories of the batch taken up that are trained on, in order of (agent, first step).
  std::span<const int> places() const { return places_; }
  const ParameterLayout& layout() const { return network_.layout(); }

 private:
  void OrderRows(const TrainingBatch& batch);
  void EvaluateRows(std::span<const float> parameters);
  void EvaluateSuccessors(std::span<const float> parameters);
  void ComputeReturns();
  void NormalizeAdvantages();
  void ExplainVariance();
  bool NextMinibatch(std::span<const std::int32_t>* rows);
  void Gather(std::span<const std::int32_t> rows);
  ActionRows Actions(std::span<const float> parameters, int rows) const;
  PpoActionRows Minibatch(int rows) const;
  void Count(const PpoLossSums& sums);
  /// Writes the model's row of `row`, or of what followed it (`successor` not null), as the i-th of
  /// the minibatch.
  void PutObservation(std::size_t i, std::int32_t row, const std::byte* successor);

  const PpoSettings settings_;
  const FrameStack stack_;
  const ActionLayout action_layout_;
  const ActionHeadRows head_;
  const std::size_t row_words_;  ///< of a stacked row
  ActorCritic network_;
  const std::size_t deviation_;  ///< where the free log deviations lie in parameters and gradient
  Random random_;
  const TrainingBatch* batch_ = nullptr;
  PpoLossSettings loss_settings_;

  // Columns beside the batch's own, by its row numbers.
  std::vector<float> value_, next_value_, log_ratio_, target_, advantage_;
  std::vector<int> places_;                   ///< trajectories in order of (agent, first step)
  std::vector<std::int32_t> rows_;            ///< rows with weight, in that order, then shuffled
  std::vector<const std::byte*> successors_;  ///< rows whose value is some step's next_value
  std::vector<std::int32_t> successor_row_;   ///< that step
  std::size_t next_row_ = 0;                  ///< of rows_, in the current epoch
  int epoch_ = 0;

  // One minibatch, contiguous.
  AlignedFloats observation_, outputs_, values_, log_prob_, entropy_;
  AlignedFloats d_outputs_, d_values_, d_log_prob_, d_entropy_, d_deviations_;
  AlignedFloats minibatch_log_prob_, minibatch_advantage_, minibatch_target_, minibatch_weight_;
  std::vector<std::int32_t> minibatch_action_;
  std::vector<std::uint8_t> minibatch_mask_;
  std::vector<const std::byte*> history_;

  PpoLossSums sums_;
  double explained_variance_ = 0.0;
};

}  // namespace murmurate
