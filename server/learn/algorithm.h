// Algorithm: how experience becomes gradients, made for late experience: a batch in, the gradients
// of its minibatches out.
//
//   TakeUp            one forward pass under the learner's parameters: V(x_t), pi(a_t|x_t)
//                     V-trace with pi/mu -> value targets and advantages (returns.h)
//                     ppo: advantages normalized over the whole batch (padding excluded)
//   NextGradient ...  shuffled minibatches, `epochs` times
//                     ppo:    -min(r A, clip(r) A), r = pi_theta / mu; A without rho
//                     impala: -A log pi_theta, A times min(rho_pg_bar, pi/mu) of the take-up
//                     a2c:    the same with every pi/mu taken for 1: A is GAE
//                     supervised, bc: the loss of label_loss.h alone; TakeUp evaluates nothing
//
// The importance weight thus enters once: in r, or in A. What sets the algorithms apart is three
// choices by settings.name: which returns (ComputeReturns), which loss (Loss), and the defaults of
// their settings. With one epoch of one minibatch, which is the usual for impala and a2c, the
// forward pass of TakeUp is that of the gradient too: a step costs one forward and one backward
// pass. The parameters given to that NextGradient must be those of TakeUp.
//
// Knows no socket, thread, optimizer, version or parameter home. Rows are visited in the order of
// (agent, first step), whatever order they arrived in, so the same experience gives the same bits.
// Nothing is allocated after construction.
//
// Rows that the model sees stacked are put together from the batch's rows: before an episode's
// first step the stack holds zeros, as it does in the client; before a trajectory's first step,
// what came with the trajectory (frames0).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "server/learn/learner.h"
#include "server/learn/rates.h"
#include "server/network/action_head_rows.h"
#include "server/network/actor_critic.h"
#include "server/network/label_loss.h"
#include "server/network/ppo_action_loss.h"
#include "shared/core/aligned_floats.h"
#include "shared/core/random.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/state.h"
#include "shared/trajectory/frame_stack.h"

namespace murmurate {

class Algorithm {
 public:
  Algorithm(const ModelSpec& spec, const AlgorithmSettings& settings, std::uint64_t seed);

  /// From the next TakeUp on.
  void SetRates(const Rates& rates) { rates_ = rates; }

  /// Reads the rows with weight > 0; the others may hold anything. `batch` must stay unchanged
  /// until the last NextGradient. `learned_steps`: where the schedules are.
  void TakeUp(std::span<const float> parameters, const TrainingBatch& batch,
              std::uint64_t learned_steps);

  /// Writes the gradient of the next minibatch at `parameters`; false when the batch is used up
  /// (all epochs, no rows, or approx_kl of the next minibatch, from the parameters of TakeUp, above
  /// 1.5 target_kl).
  bool NextGradient(std::span<const float> parameters, std::span<float> gradient);

  /// Between batches: what decides how the next ones are shuffled.
  void Save(const StateWriter& writer) const { writer.Words("random", random_.Saved()); }
  Status Load(const StateReader& reader);
  /// supervised, bc: the loss over the rows of a batch that is held out, instead of NextGradient.
  /// What comes after is shuffled as if there had been none.
  void Score(std::span<const float> parameters);

  /// Steps learned from, losses (means over all minibatches since TakeUp), clip range and explained
  /// variance.
  void Report(LearnReport* report) const;

  /// The trajectories of the batch taken up that are trained on, in order of (agent, first step).
  std::span<const int> places() const { return places_; }
  const ParameterLayout& layout() const { return network_.layout(); }

 private:
  /// One row that the network sees.
  struct Slot {
    std::int32_t row = kPadding;           ///< of the batch
    const std::byte* successor = nullptr;  ///< not null: instead what followed that row
  };
  static constexpr std::int32_t kPadding = -1;

  void OrderRows(const TrainingBatch& batch);
  void ComputeReturns();
  /// Of the minibatch gathered: the gradients by log pi, entropy and values, and what to count.
  PpoLossSums Loss(int rows);
  void NormalizeAdvantages();
  void ExplainVariance();
  void MeasureLag();
  void Count(const PpoLossSums& sums);
  bool LabelGradient(std::span<const float> parameters, std::span<float> gradient);
  void ReportLabels(LearnReport* report) const;
  PpoActionRows Minibatch(int rows) const;
  ActionRows Actions(std::span<const float> parameters, int rows) const;

  // algorithm_rows.cc: which rows the network sees together.
  bool recurrent() const { return lanes_ > 0; }
  void Evaluate(std::span<const float> parameters);
  void EvaluateSlots(std::span<const float> parameters, std::span<const Slot> slots,
                     const Sequences* sequences);
  /// Calls add(slot) for what followed the truncations and the end of a trajectory.
  template <typename Add>
  void ForSuccessors(int place, Add add) const;
  /// Leaves the next minibatch gathered, and seen by the network.
  bool ForwardNext(std::span<const float> parameters);
  bool NextMinibatch(std::span<const float> parameters);
  /// The i-th of nearly equal pieces of at most `most` of what is left; 0 when the batch is used
  /// up.
  template <typename T>
  std::size_t NextPiece(std::vector<T>& all, std::size_t most);
  /// Steps [from, to) of trajectories as slots_, first_ and sequences_, time-major.
  void LayLanes(std::span<const int> places, int from, int to, bool successors);
  void BurnIn(std::span<const float> parameters, std::span<const int> places);
  void Gather(std::span<const Slot> slots);
  void GatherColumns(std::span<const Slot> slots);
  void PutObservation(std::size_t i, const Slot& slot);

  const AlgorithmSettings settings_;
  Rates rates_;
  const FrameStack stack_;
  const ActionLayout action_layout_;
  const ActionHeadRows head_;
  const std::size_t row_words_;  ///< of a stacked row
  const int lanes_;              ///< trajectories of a minibatch; 0: rows are independent
  const int burn_in_;
  const bool one_pass_;  ///< the only minibatch is the batch as it was taken up
  const int max_rows_;   ///< that the network sees at once
  ActorCritic network_;
  const std::size_t deviation_;  ///< where the free log deviations lie in parameters and gradient
  Random random_;
  const TrainingBatch* batch_ = nullptr;
  PpoLossSettings loss_settings_;

  // Columns beside the batch's own, by its row numbers.
  std::vector<float> value_, next_value_, log_ratio_, target_, advantage_;
  std::vector<float> start_log_prob_;  ///< under the parameters of TakeUp
  std::vector<int> places_;            ///< trajectories in order of (agent, first step)
  std::vector<std::int32_t> rows_;     ///< rows to learn from, in that order, then shuffled
  std::vector<int> order_;    ///< recurrent: the trajectories that have such rows, shuffled
  std::size_t taken_up_ = 0;  ///< how many rows to learn from TakeUp found in the batch
  std::size_t next_ = 0;      ///< of rows_ or order_, in the current epoch
  int epoch_ = 0;

  std::vector<Slot> slots_;              ///< what the network sees next
  std::vector<std::vector<Slot>> lane_;  ///< [lanes_]
  std::vector<std::uint8_t> first_;      ///< of slots_
  AlignedFloats state_, state_after_;    ///< [lanes_][state]
  Sequences sequences_;

  // One minibatch, contiguous.
  AlignedFloats observation_, outputs_, values_, log_prob_, entropy_;
  AlignedFloats d_outputs_, d_values_, d_log_prob_, d_entropy_, d_deviations_;
  AlignedFloats minibatch_log_prob_, minibatch_start_, minibatch_advantage_, minibatch_target_,
      minibatch_weight_;
  std::vector<std::int32_t> minibatch_action_;
  std::vector<std::uint8_t> minibatch_mask_;
  std::vector<const std::byte*> history_;

  PpoLossSums sums_;
  std::optional<LabelLoss> label_loss_;     ///< supervised, bc
  LabelLossSums label_sums_, unseen_sums_;  ///< unseen: rows that nobody had learned from by then
  double explained_variance_ = 0.0, lag_kl_ = 0.0;
};

}  // namespace murmurate
