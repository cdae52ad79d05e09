#include "server/learn/on_policy.h"

#include <algorithm>
#include <cmath>

#include "server/compute/vector_math.h"
#include "server/learn/advantages.h"
#include "server/learn/batch_network.h"
#include "server/learn/on_policy_sums.h"
#include "server/network/action_head_rows.h"
#include "server/network/policy_loss.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

using namespace on_policy_sums;

class OnPolicy : public Algorithm {
 public:
  OnPolicy(const ModelSpec& spec, const AlgorithmSettings& settings, const LossForm& form)
      : loss_(form.kind == LossForm::Kind::kClippedRatio ? ClippedPolicyLoss : PolicyGradientLoss),
        value_weight_(static_cast<float>(settings.value_weight)),
        dual_clip_(static_cast<float>(settings.dual_clip)),
        corrects_(settings.staleness == StalenessPolicy::kVtrace),
        head_(ActionLayout(spec.spaces.action, spec.continuous)),
        network_(spec, settings),
        value_begin_(ValueBegin(network_.layout())),
        advantages_(settings, form.weighs_advantage) {
    for (AlignedFloats* column : {&log_prob_, &entropy_, &d_log_prob_, &d_entropy_, &behaviour_,
                                  &start_, &advantage_, &target_})
      *column = AlignedFloats(static_cast<std::size_t>(network_.max_rows()));
  }

  void Prepare(std::span<const float> parameters, const TrainingBatch& batch,
               const BatchPlan& plan) override;
  bool Gradient(std::size_t update, std::span<const float> parameters,
                std::span<float> gradient) override;
  void Score(std::size_t, std::span<const float>) override {
    MURMURATE_CHECK(false, "only labels are held out");
  }
  double MeasureChange(std::span<const float> parameters) override;
  const AlgorithmSums& sums() const override { return sums_; }
  const ParameterLayout& layout() const override { return network_.layout(); }

 private:
  PolicyLossSums Loss();
  void AddDeviations(const ActionRows& actions);
  void CountStatistics();

  decltype(ClippedPolicyLoss)* const loss_;
  const float value_weight_, dual_clip_;
  const bool corrects_;  ///< returns by pi/mu
  const ActionHeadRows head_;
  BatchNetwork network_;
  const std::size_t value_begin_;
  Advantages advantages_;
  const TrainingBatch* batch_ = nullptr;
  const BatchPlan* plan_ = nullptr;
  // Numbers of the rows that the network saw last.
  AlignedFloats log_prob_, entropy_, d_log_prob_, d_entropy_;
  AlignedFloats behaviour_, start_, advantage_, target_;
  AlgorithmSums sums_{};
};

void OnPolicy::Prepare(std::span<const float> parameters, const TrainingBatch& batch,
                       const BatchPlan& plan) {
  batch_ = &batch;
  plan_ = &plan;
  sums_ = {};
  sums_[kClip] = plan.clip;
  network_.Begin(batch, plan);
  if (plan.rows.empty()) return;
  network_.ForwardAll(parameters, [&] {
    const ActionRows actions = network_.Actions(parameters);
    head_.Evaluate(actions, log_prob_.data(), plan.one_pass ? entropy_.data() : nullptr);
    AddDeviations(actions);
    advantages_.Record(batch, network_.seen(), network_.values(), log_prob_);
  });
  advantages_.Compute(batch, plan);
  CountStatistics();
}

void OnPolicy::AddDeviations(const ActionRows& actions) {
  if (!head_.has_deviations()) return;
  const std::span<const SeenRow> seen = network_.seen();
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (seen[i].row == SeenRow::kPadding || seen[i].successor != nullptr) continue;
    sums_[kDeviation] += head_.MeanDeviation(actions, static_cast<int>(i));
    ++sums_[kDeviationRows];
  }
}

void OnPolicy::CountStatistics() {
  const AdvantageStatistics& statistics = advantages_.statistics();
  const auto rows = static_cast<double>(plan_->rows.size());
  sums_[kExplainedVariance] = statistics.explained_variance;
  sums_[kLagKl] = statistics.lag_kl;
  sums_[kRows] = rows;
  sums_[kEffective] = statistics.effective_share * rows;
  sums_[kTruncated] = statistics.truncated_share * rows;
  sums_[kCorrectedRows] = corrects_ ? rows : 0.0;
  sums_[kTarget] = statistics.target_mean * rows;
  sums_[kTargetSpread] = statistics.target_deviation * rows;
  sums_[kAdvantage] = statistics.advantage_mean * rows;
  sums_[kAdvantageSpread] = statistics.advantage_deviation * rows;
}

bool OnPolicy::Gradient(std::size_t update, std::span<const float> parameters,
                        std::span<float> gradient) {
  network_.Forward(plan_->updates[update], parameters);
  const ActionRows actions = network_.Actions(parameters);
  if (!plan_->one_pass) head_.Evaluate(actions, log_prob_.data(), entropy_.data());
  const PolicyLossSums sums = Loss();
  sums_[kWeight] += sums.weight;
  sums_[kPolicyLoss] += sums.policy_loss;
  sums_[kValueLoss] += sums.value_loss;
  sums_[kEntropy] += sums.entropy;
  sums_[kApproxKl] += sums.approx_kl;
  sums_[kClipped] += sums.clipped;
  if (plan_->most_kl > 0.0 && sums.approx_kl > plan_->most_kl * sums.weight) return false;
  head_.Gradient(actions, d_log_prob_.data(), d_entropy_.data(), network_.d_outputs(),
                 network_.d_deviations());
  network_.Backward(parameters, gradient);
  ++sums_[kUpdates];
  sums_[kPolicyGradient] += Norm(gradient.first(value_begin_));
  sums_[kValueGradient] += Norm(gradient.subspan(value_begin_));
  return true;
}

double OnPolicy::MeasureChange(std::span<const float> parameters) {
  const std::span<const float> start = advantages_.start_log_prob();
  double sum = 0.0;
  network_.ForwardAll(parameters, [&] {
    head_.Evaluate(network_.Actions(parameters), log_prob_.data(), nullptr);
    const std::span<const SeenRow> seen = network_.seen();
    for (std::size_t i = 0; i < seen.size(); ++i) {
      if (seen[i].row == SeenRow::kPadding || seen[i].successor != nullptr) continue;
      const double change = std::min(double{log_prob_[i]} - double{start[seen[i].row]}, 80.0);
      sum += std::exp(change) - 1.0 - change;
    }
  });
  const double kl = sum / static_cast<double>(plan_->rows.size());
  sums_[kApproxKl] = kl * sums_[kWeight];
  return kl;
}

/// The loss of the minibatch seen, and its gradients by log pi, entropy and values.
PolicyLossSums OnPolicy::Loss() {
  const Minibatch& minibatch = network_.minibatch();
  minibatch.Pick(batch_->log_prob, &behaviour_);
  minibatch.Pick(advantages_.start_log_prob(), &start_);
  minibatch.Pick(advantages_.advantage(), &advantage_);
  minibatch.Pick(advantages_.target(), &target_);
  return loss_({.clip = plan_->clip,
                .dual_clip = dual_clip_,
                .entropy = plan_->entropy,
                .value_weight = value_weight_},
               {.rows = minibatch.rows(),
                .log_prob = log_prob_.data(),
                .entropy = entropy_.data(),
                .values = network_.values().data(),
                .behaviour_log_prob = behaviour_.data(),
                .advantage = advantage_.data(),
                .value_target = target_.data(),
                .weight = minibatch.weights(),
                .start_log_prob = start_.data()},
               d_log_prob_.data(), d_entropy_.data(), network_.d_values(), nullptr);
}

}  // namespace

std::size_t ValueBegin(const ParameterLayout& layout) {
  for (const TensorSlot& tensor : layout.tensors)
    if (tensor.name.starts_with("value.")) return tensor.offset;
  return layout.trained_count();
}

std::unique_ptr<Algorithm> MakeOnPolicy(const ModelSpec& spec, const AlgorithmSettings& settings,
                                        const LossForm& form) {
  MURMURATE_CHECK(form.of_policy(), "a policy's loss");
  return std::make_unique<OnPolicy>(spec, settings, form);
}

LossForm FormOfOnePass(const AlgorithmSettings& settings, const LossForm& form) {
  const bool one_step = settings.minibatch >= settings.batch_steps && settings.epochs == 1;
  return one_step ? form : LossForm();
}

std::vector<AlgorithmMetric> OnPolicyMetrics() {
  return {{&LearnReport::policy_loss, kPolicyLoss, kWeight},
          {&LearnReport::value_loss, kValueLoss, kWeight},
          {&LearnReport::entropy, kEntropy, kWeight},
          {&LearnReport::approx_kl, kApproxKl, kWeight},
          {&LearnReport::explained_variance, kExplainedVariance},
          {&LearnReport::lag_kl, kLagKl},
          {&LearnReport::effective_share, kEffective, kRows},
          {&LearnReport::truncated_share, kTruncated, kCorrectedRows},
          {&LearnReport::target_mean, kTarget, kRows},
          {&LearnReport::target_deviation, kTargetSpread, kRows},
          {&LearnReport::advantage_mean, kAdvantage, kRows},
          {&LearnReport::advantage_deviation, kAdvantageSpread, kRows},
          {&LearnReport::policy_deviation, kDeviation, kDeviationRows},
          {&LearnReport::clip_fraction, kClipped, kWeight},
          {&LearnReport::clip_range, kClip},
          {&LearnReport::policy_grad_norm, kPolicyGradient, kUpdates},
          {&LearnReport::value_grad_norm, kValueGradient, kUpdates}};
}

std::vector<KeyRefusal> RefusalsOfOnePass() {
  return {{.key = "adaptive_kl",
           .expected = "no such line",
           .because = "{} makes one pass over a batch and follows no distance",
           .instead = &AlgorithmKind::many_updates}};
}

std::vector<KeyRefusal> RefusalsWithoutWeights() {
  std::vector<KeyRefusal> refusals{
      {.key = "staleness",
       .refused = [](const KeyValue& value) { return std::get<std::string>(value) == "vtrace"; },
       .written = false,
       .expected = "\"block\" or \"drop\"",
       .because = "{} has no importance weights",
       .instead = &AlgorithmKind::weighs_gradient},
      {.key = "epochs",
       .refused = [](const KeyValue& value) { return std::get<std::int64_t>(value) > 1; },
       .written = false,
       .expected = "1",
       .because = "{}'s gradient is right for one pass only",
       .instead = &AlgorithmKind::many_updates}};
  for (KeyRefusal& refusal : RefusalsOfOnePass()) refusals.push_back(std::move(refusal));
  return refusals;
}

}  // namespace murmurate
