// R2D2 (Kapturowski et al. 2019, "Recurrent Experience Replay in Distributed Reinforcement
// Learning"): DQN for models that remember. A sample is a sequence of steps with the state that it
// was played with; its first burn_in steps only bring that state up to date, under the policy and
// under its target (replayed_sequences.h). Each step t behind them is learned from:
//
//   y_t = h(sum_{i<k} gamma^i r_{t+i} + gamma^k h^-1(Q_target(s_{t+k}, best action there)))
//
// with k <= n_step (window_return.h) and h of value_rescaling.h, both in double. With double_q the
// best action is the policy's choice, without it the target's; masks hold there. The loss is
// Huber's with delta 1 on Q - y, where the paper squares; the mean over the steps learned from, each
// times the weight of its sequence, and over the variables of an action (choice_values.h).
//
// A sequence's priority is eta max_t |Q - y| + (1 - eta) mean_t |Q - y| with eta = 0.9; a new one
// has the largest so far, for its errors are first found when it is drawn.
#include <algorithm>
#include <cmath>
#include <string>

#include "server/learn/algorithm.h"
#include "server/learn/choice_values.h"
#include "server/learn/replay_algorithm.h"
#include "server/learn/replay_planner.h"
#include "server/learn/replayed_sequences.h"
#include "server/learn/value_rescaling.h"
#include "server/learn/window_return.h"
#include "server/replay/replay_store.h"
#include "shared/core/check.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {
namespace {

constexpr std::string_view kTargetNetwork = "target";
/// eta, of a sequence's priority.
constexpr double kPartOfLargest = 0.9;

constexpr Metric kStateDrift{
    "train/state_drift", MetricKind::kMean, "",
    "distance of states after burn_in from the stored ones, in their length"};

enum Place : std::size_t { kSteps, kLoss, kValue, kDistance, kDrift, kStored };

class R2d2 : public Algorithm {
 public:
  R2d2(const ModelSpec& spec, const AlgorithmSettings& settings)
      : n_step_(settings.n_step),
        gamma_(settings.gamma),
        double_q_(settings.double_q),
        layout_(spec),
        choices_(ActionLayout(spec.spaces.action, spec.continuous)),
        sequences_(spec, settings),
        policy_(spec, layout_, kPolicyNetwork, sequences_.most_rows()),
        target_(spec, layout_, kTargetNetwork, sequences_.most_rows()) {
    for (AlignedFloats* block : {&q_, &target_q_, &d_q_})
      *block = AlignedFloats(static_cast<std::size_t>(sequences_.most_rows()) * outputs());
    answers_.reserve(
        static_cast<std::size_t>(settings.replay.minibatch * settings.replay.most_updates));
  }

  void Prepare(std::span<const float>, const TrainingBatch& batch, const BatchPlan& plan) override {
    batch_ = &batch;
    plan_ = &plan;
    sums_ = {};
    answers_.clear();
  }
  bool Gradient(std::size_t update, std::span<const float> parameters,
                std::span<float> gradient) override;
  void Score(std::size_t, std::span<const float>) override {
    MURMURATE_CHECK(false, "only labels are held out");
  }
  const AlgorithmSums& sums() const override { return sums_; }
  /// The priority of each sequence; of a new batch nothing.
  std::span<const float> row_answers() const override { return answers_; }
  const ParameterLayout& layout() const override { return layout_; }

 private:
  std::size_t outputs() const { return static_cast<std::size_t>(policy_.outputs()); }
  void LearnSequence(int slot, double part);
  double LearnRow(std::int32_t row, double part);
  double TargetOf(std::int32_t row) const;

  const int n_step_;
  const double gamma_;
  const bool double_q_;
  const ParameterLayout layout_;
  const ChoiceValues choices_;
  ReplayedSequences sequences_;
  SequenceNetwork policy_, target_;
  AlignedFloats q_, target_q_, d_q_;  ///< [rows][outputs], rescaled
  std::vector<float> answers_;
  const TrainingBatch* batch_ = nullptr;
  const BatchPlan* plan_ = nullptr;
  AlgorithmSums sums_{};
};

bool R2d2::Gradient(std::size_t update, std::span<const float> parameters,
                    std::span<float> gradient) {
  const PlannedUpdate& planned = plan_->updates[update];
  sequences_.Take(*batch_, std::span(plan_->order).subspan(planned.first, planned.count));
  sequences_.See(target_, parameters, target_q_.data());
  sequences_.See(policy_, parameters, q_.data());
  std::fill_n(d_q_.begin(), sequences_.rows() * outputs(), 0.0f);
  const std::size_t steps = sequences_.learned_rows();
  for (const int slot : sequences_.slots()) LearnSequence(slot, 1.0 / static_cast<double>(steps));
  const ReplayedSequences::Drift drift = sequences_.StateDrift();
  sums_[kDrift] += drift.difference;
  sums_[kStored] += drift.stored;
  std::ranges::fill(gradient, 0.0f);
  if (steps > 0) policy_.Backward(parameters, d_q_.data(), gradient);
  return true;
}

/// A sequence that is not longer than burn_in teaches nothing, and has no error.
void R2d2::LearnSequence(int slot, double part) {
  const auto [first, end] = sequences_.LearnedOf(slot);
  double largest = 0.0, sum = 0.0;
  for (std::int32_t row = first; row < end; ++row) {
    const double distance = LearnRow(row, part);
    largest = std::max(largest, distance);
    sum += distance;
  }
  const double steps = std::max(1, end - first);
  answers_.push_back(
      static_cast<float>(kPartOfLargest * largest + (1.0 - kPartOfLargest) * sum / steps));
  sums_[kDistance] += sum;
  sums_[kSteps] += end - first;
}

/// Its distance from its target. The gradient of Huber's loss is the error cut to +- 1.
double R2d2::LearnRow(std::int32_t row, double part) {
  const auto at = static_cast<std::size_t>(row);
  const std::size_t place = sequences_.PlaceOf({.row = row}) * outputs();
  const std::int32_t* const action =
      batch_->action.data() + at * static_cast<std::size_t>(batch_->layout.action.words());
  const double target = TargetOf(row), weight = double{batch_->weight[at]};
  const double each = 1.0 / choices_.variables();
  double distance = 0.0;
  for (int variable = 0; variable < choices_.variables(); ++variable) {
    const std::size_t output = place + choices_.OutputOf(variable, action);
    const double error = double{q_[output]} - target, size = std::abs(error);
    d_q_[output] = static_cast<float>(part * weight * each * std::clamp(error, -1.0, 1.0));
    sums_[kLoss] += weight * each * (size <= 1.0 ? 0.5 * size * size : size - 0.5);
    sums_[kValue] += each * RescaledBack(double{q_[output]});
    distance += each * size;
  }
  return distance;
}

double R2d2::TargetOf(std::int32_t row) const {
  const WindowReturn found = ReturnOf(*batch_, row, n_step_, gamma_);
  if (found.discount == 0.0f) return Rescaled(found.reward);
  const std::size_t place = sequences_.PlaceOf(found.end) * outputs();
  const bool has_mask = batch_->masked && found.end.successor == nullptr;
  const std::uint8_t* const mask =
      has_mask ? &batch_->mask[static_cast<std::size_t>(found.end.row) * outputs()] : nullptr;
  const AlignedFloats& by = double_q_ ? q_ : target_q_;
  const double best = choices_.ValueOfBest(by.data() + place, target_q_.data() + place, mask);
  return Rescaled(found.reward + double{found.discount} * RescaledBack(best));
}

Result<ModelSpec> NetworksOf(ModelSpec spec, const AlgorithmSettings&) {
  if (!ChoiceValues::HasChoicesOnly(ActionLayout(spec.spaces.action, spec.continuous)))
    return InvalidArgument(
        "r2d2 learns a value for each choice, and these actions have numbers or switches in them: "
        "name another algorithm, or give the game discrete actions");
  if (!spec.recurrent())
    return InvalidArgument(
        "r2d2 learns what a memory is worth, and this model has none: give it a recurrent layer, "
        "or name another algorithm");
  NetworkSpec policy = spec.networks.front();
  spec.networks = {policy, {.name = std::string(kTargetNetwork), .follows = policy.name}};
  return spec;
}

Result<std::unique_ptr<ExperienceStore>> MakeStore(const AlgorithmSettings& settings,
                                                   const StoreSetup& setup) {
  auto made = ReplayStore::Make(settings.replay, setup);
  if (!made.ok()) return made.status();
  return std::unique_ptr<ExperienceStore>(*std::move(made));
}

}  // namespace

const AlgorithmKind& R2d2Kind() {
  static const AlgorithmKind kKind = [] {
    AlgorithmKind kind = ReplayKind(
        "r2d2", {"policy_every", "initial_temperature", "target_entropy", "noise", "noise_color",
                 "target_noise", "target_noise_clip", "dueling", "quantiles"});
    std::erase_if(kind.refusals,
                  [](const KeyRefusal& refusal) { return refusal.key == "burn_in"; });
    kind.sequences = true;
    kind.values = false;
    kind.defaults = {{"algorithm", "trajectory_length", std::int64_t{40}},
                     {"algorithm", "batch_steps", std::int64_t{320}},
                     {"algorithm", "epochs", std::int64_t{1}},
                     {"algorithm", "gamma", 0.997},
                     {"algorithm", "max_grad_norm", 10.0},
                     {"algorithm", "n_step", std::int64_t{5}},
                     {"algorithm", "normalize_reward", false},
                     {"algorithm", "target_every", std::int64_t{100}},
                     {"optimizer", "learning_rate", 1e-3},
                     {"replay", "minibatch", std::int64_t{8}},
                     {"replay", "priority_exponent", 0.9},
                     {"replay", "importance_exponent", 0.6}};
    kind.metrics = {{&LearnReport::value_loss, kLoss, kSteps},
                    {&kQValue, kValue, kSteps},
                    {&kTdError, kDistance, kSteps},
                    {&kStateDrift, kDrift, kStored}};
    kind.networks = NetworksOf;
    kind.act = ActByEpsilon;
    kind.make = [](const ModelSpec& spec,
                   const AlgorithmSettings& settings) -> std::unique_ptr<Algorithm> {
      return std::make_unique<R2d2>(spec, settings);
    };
    kind.make_store = MakeStore;
    kind.store_bytes = [](const AlgorithmSettings& settings, const TrajectoryLayout& layout) {
      return ReplayStore::BytesFor(settings.replay, layout);
    };
    return kind;
  }();
  return kKind;
}

}  // namespace murmurate
