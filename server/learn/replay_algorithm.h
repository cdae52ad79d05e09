// ReplayAlgorithm: what algorithms that learn values from a replay have in common: the steps of an
// update, the error of each (their priorities), what is counted of them.
//
// Each update comes from plan.order, each new batch's first errors from plan.rows where steps are
// drawn by them. What an algorithm draws follows from the plan's seed and the update's number.
#pragma once

#include <string>
#include <vector>

#include "server/learn/algorithm.h"
#include "server/learn/replayed_steps.h"
#include "shared/core/random.h"

namespace murmurate {

inline constexpr Metric kQValue{"train/q_value", MetricKind::kMean, "",
                                "mean value of the actions that were learned from"};
inline constexpr Metric kTdError{"train/td_error", MetricKind::kMean, "",
                                 "mean distance of values from their targets"};

class ReplayAlgorithm : public Algorithm {
 public:
  /// AlgorithmSums of all of them; those of a policy are sums over its updates of their means.
  enum Place : std::size_t {
    kSteps,        ///< that were learned from
    kLoss,         ///< of the values
    kValue,        ///< of the actions taken
    kDistance,     ///< of values from their targets
    kPolicySteps,  ///< updates of the policy
    kPolicyLoss,
    kEntropy,
    kTemperature,
    kStateLoss,        ///< of the values of states, summed over steps
    kAdvantageWeight,  ///< of the actions taken, summed over steps
  };

  void Prepare(std::span<const float> parameters, const TrainingBatch& batch,
               const BatchPlan& plan) override;
  bool Gradient(std::size_t update, std::span<const float> parameters,
                std::span<float> gradient) override;
  void Score(std::size_t update, std::span<const float> parameters) override;
  const AlgorithmSums& sums() const override { return sums_; }
  /// The distance of each row's value from its target.
  std::span<const float> row_answers() const override { return answers_; }
  const ParameterLayout& layout() const override { return layout_; }

 protected:
  ReplayAlgorithm(const ModelSpec& spec, const AlgorithmSettings& settings);

  /// Finds values and targets of steps(), and the error of each: every Error(i).
  virtual void FindErrors(std::span<const float> parameters, Random& random) = 0;
  /// Adds the gradients to `gradient`, after FindErrors.
  virtual void AddGradients(const PlannedUpdate& update, std::span<const float> parameters,
                            Random& random, std::span<float> gradient) = 0;
  /// The mean distance of step i's values from their targets.
  virtual double Distance(std::size_t i) const = 0;

  const ReplayedSteps& steps() const { return steps_; }
  const BatchPlan& plan() const { return *plan_; }
  void Count(Place place, double value) { sums_[place] += value; }

 private:
  const bool prioritizes_;
  const ParameterLayout layout_;
  ReplayedSteps steps_;
  std::vector<float> answers_;
  const TrainingBatch* batch_ = nullptr;
  const BatchPlan* plan_ = nullptr;
  AlgorithmSums sums_{};
};

/// Those of values, and of a policy where it has updates.
std::vector<AlgorithmMetric> ValueMetrics();
/// What all of them are: their planner, their store, the metrics of values (and of a policy, where
/// it has updates), and the keys of [algorithm] that mean nothing to any of them, or are among
/// `refused`.
AlgorithmKind ReplayKind(std::string name, std::vector<std::string> refused);
/// Defaults of one that learns a policy beside its critics, with `own` behind them.
std::vector<KeyDefault> CriticDefaults(std::vector<KeyDefault> own);
/// The best choice, and with probability epsilon, or an agent's part of its ladder, any.
ActSettings ActByEpsilon(const AlgorithmSettings& settings, std::uint64_t learned_steps);
/// A replay whose samples have n_step steps, and the row where the return ends. kResource: it does
/// not fit into memory; kInvalidArgument: CheckReplaySettings.
Result<std::unique_ptr<ExperienceStore>> MakeWindowStore(const AlgorithmSettings& settings,
                                                         const StoreSetup& setup);

}  // namespace murmurate
