// Implicit Q-learning (IQL; Kostrikov et al. 2021, arXiv 2110.06169): a policy learned from recorded
// actions and rewards alone. No action that was not recorded is ever given a value, so none can be
// overrated that the recording says nothing of:
//
//   value     L_tau(min target_q(s, a) - v(s))                 the tau-expectile of q (expectile.h)
//   y         sum_{i<k} gamma^i r_{t+i} + gamma^k v(s_{t+k})   k <= n_step (window_return.h)
//   q1, q2    1/2 (q(s, a) - y)^2
//   policy    -min(exp(beta (min target_q(s, a) - v(s))), most) log pi(a | s)
//
// each the mean over a minibatch, all at the same parameters, and their gradient is one step. The
// critics read the action, so it may have numbers, choices and switches together; the deviation of
// its numbers depends on the state.
#include "server/learn/algorithm.h"
#include "server/learn/encoded_actions.h"
#include "server/learn/expectile.h"
#include "server/learn/passes_and_targets.h"
#include "server/learn/replay_algorithm.h"
#include "server/learn/twin_critics.h"
#include "server/network/action_head_rows.h"
#include "server/network/single_network.h"
#include "shared/core/check.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {
namespace {

/// Updates are of a batch's minibatches.
AlgorithmSettings OfMinibatches(AlgorithmSettings settings) {
  settings.replay.minibatch = settings.minibatch;
  settings.replay.priority_exponent = 0.0;
  return settings;
}

class Iql : public ReplayAlgorithm {
 public:
  Iql(const ModelSpec& spec, const AlgorithmSettings& settings)
      : ReplayAlgorithm(spec, OfMinibatches(settings)),
        tau_(settings.policy.expectile),
        beta_(settings.policy.inverse_temperature),
        most_(settings.policy.max_advantage_weight),
        policy_(spec, layout(), kPolicyNetwork, steps().most()),
        value_(spec, layout(), kValueNetwork, steps().most()),
        critics_(spec, layout(), steps().most()),
        encoded_(ActionLayout(spec.spaces.action, spec.continuous)),
        head_(ActionLayout(spec.spaces.action, spec.continuous)) {
    const auto rows = static_cast<std::size_t>(steps().most());
    action_ = AlignedFloats(rows * encoded_.count());
    for (AlignedFloats* block : {&outputs_, &d_outputs_})
      *block = AlignedFloats(rows * static_cast<std::size_t>(policy_.outputs()));
    for (AlignedFloats* block :
         {&target_, &taken_, &value_of_, &d_value_, &log_prob_, &d_log_prob_, &d_entropy_})
      *block = AlignedFloats(rows);
  }

 private:
  void FindErrors(std::span<const float> parameters, Random& random) override;
  void AddGradients(const PlannedUpdate& update, std::span<const float> parameters, Random& random,
                    std::span<float> gradient) override;
  double Distance(std::size_t i) const override { return critics_.Distance(target_, i); }
  double Advantage(std::size_t i) const { return double{taken_[i]} - double{value_of_[i]}; }
  void AddValueGradient(std::span<const float> parameters, std::span<float> gradient);
  void AddPolicyGradient(std::span<const float> parameters, std::span<float> gradient);

  const double tau_, beta_, most_;
  SingleNetwork policy_, value_;
  TwinCritics critics_;
  EncodedActions encoded_;
  const ActionHeadRows head_;
  AlignedFloats action_;                 ///< [rows][encoded_.count()]
  AlignedFloats outputs_, d_outputs_;    ///< [rows][outputs of the policy]
  AlignedFloats target_;                 ///< [rows] y
  AlignedFloats taken_;                  ///< [rows] min target_q(s, a)
  AlignedFloats value_of_, d_value_;     ///< [rows] v(s)
  AlignedFloats log_prob_, d_log_prob_;  ///< [rows]
  AlignedFloats d_entropy_;              ///< [rows] 0
};

void Iql::FindErrors(std::span<const float> parameters, Random&) {
  const Minibatch &here = steps().here(), &there = steps().there();
  const int rows = here.rows();
  value_.Forward(parameters, there.observations(), rows, target_.data());
  for (std::size_t i = 0; i < steps().count(); ++i) {
    const float discount = steps().discount(i);
    target_[i] = steps().reward(i) + (discount > 0.0f ? discount * target_[i] : 0.0f);
  }
  encoded_.Encode(here.Action(0), rows, action_.data());
  critics_.FindTargets(parameters, here.observations(), rows, action_.data(), taken_.data());
  critics_.Forward(parameters, here.observations(), rows, action_.data());
}

void Iql::AddGradients(const PlannedUpdate&, std::span<const float> parameters, Random&,
                       std::span<float> gradient) {
  const TwinCritics::Fit fit =
      critics_.AddFit(parameters, target_, steps().here().weights(), gradient);
  Count(kLoss, fit.loss);
  Count(kValue, fit.value);
  AddValueGradient(parameters, gradient);
  AddPolicyGradient(parameters, gradient);
}

/// Leaves v(s), which advantages are counted from.
void Iql::AddValueGradient(std::span<const float> parameters, std::span<float> gradient) {
  const Minibatch& here = steps().here();
  const auto count = static_cast<double>(steps().count());
  value_.Forward(parameters, here.observations(), here.rows(), value_of_.data());
  for (std::size_t i = 0; i < steps().count(); ++i) {
    const double weight = here.weights()[i];
    d_value_[i] = static_cast<float>(weight * ExpectileSlope(Advantage(i), tau_) / count);
    Count(kStateLoss, weight * ExpectileLoss(Advantage(i), tau_));
  }
  value_.Backward(parameters, d_value_.data(), gradient);
}

void Iql::AddPolicyGradient(std::span<const float> parameters, std::span<float> gradient) {
  const Minibatch& here = steps().here();
  const auto count = static_cast<double>(steps().count());
  policy_.Forward(parameters, here.observations(), here.rows(), outputs_.data());
  const ActionRows rows = here.Actions(outputs_.data(), nullptr);
  head_.Evaluate(rows, log_prob_.data(), nullptr);
  double loss = 0.0;
  for (std::size_t i = 0; i < steps().count(); ++i) {
    const double weight = double{here.weights()[i]} * AdvantageWeight(Advantage(i), beta_, most_);
    d_log_prob_[i] = static_cast<float>(-weight / count);
    loss -= weight * double{log_prob_[i]};
    Count(kAdvantageWeight, weight);
  }
  head_.Gradient(rows, d_log_prob_.data(), d_entropy_.data(), d_outputs_.data(), nullptr);
  policy_.Backward(parameters, d_outputs_.data(), gradient);
  Count(kPolicySteps, 1.0);
  Count(kPolicyLoss, loss / count);
}

constexpr Metric kStateLossNow{"train/state_value_loss", MetricKind::kMean, "",
                               "mean expectile loss of the values of states"};
constexpr Metric kAdvantageWeightNow{"train/advantage_weight", MetricKind::kMean, "",
                                     "mean weight of recorded actions"};

Result<ModelSpec> NetworksOf(ModelSpec spec, const AlgorithmSettings&) {
  if (spec.recurrent())
    return InvalidArgument(
        "iql learns from single steps, and this model remembers: take the recurrent layer out, or "
        "name another algorithm");
  spec.continuous.state_dependent_deviation = ActionLayout(spec.spaces.action).has_numbers();
  MURMURATE_RETURN_IF_ERROR(CheckContinuous(spec.spaces.action, spec.continuous));
  spec = TwinCritics::AddTo(spec, 0);
  NetworkSpec value = *spec.Find("q1");
  value.name = kValueNetwork;
  value.reads_action = false;
  spec.networks.insert(spec.networks.begin() + 1, value);
  return spec;
}

std::vector<AlgorithmMetric> Metrics() {
  using A = ReplayAlgorithm;
  std::vector<AlgorithmMetric> metrics = ValueMetrics();
  metrics.push_back({&kStateLossNow, A::kStateLoss, A::kSteps});
  metrics.push_back({&kAdvantageWeightNow, A::kAdvantageWeight, A::kSteps});
  return metrics;
}

std::vector<KeyRefusal> Refusals() {
  std::vector<KeyRefusal> refusals;
  for (const char* key : {"lambda",
                          "value_weight",
                          "clip",
                          "dual_clip",
                          "entropy",
                          "target_kl",
                          "adaptive_kl",
                          "staleness",
                          "max_staleness",
                          "normalize_advantage",
                          "burn_in",
                          "epsilon",
                          "double_q",
                          "policy_every",
                          "initial_temperature",
                          "epsilon_ladder",
                          "epsilon_ladder_alpha",
                          "dueling",
                          "quantiles",
                          "target_entropy",
                          "noise",
                          "noise_color",
                          "target_noise",
                          "target_noise_clip"})
    refusals.push_back({.key = key,
                        .expected = "no such line",
                        .because = "{} learns values of recorded actions, without it"});
  return refusals;
}

}  // namespace

const AlgorithmKind& IqlKind() {
  static const AlgorithmKind kKind{
      .name = "iql",
      .own_play = false,
      .from_recordings = true,
      .prepares = false,
      .defaults = {{"algorithm", "trajectory_length", std::int64_t{16}},
                   {"algorithm", "batch_steps", std::int64_t{16384}},
                   {"algorithm", "minibatch", std::int64_t{256}},
                   {"algorithm", "epochs", std::int64_t{1}},
                   {"algorithm", "max_grad_norm", 0.0},
                   {"algorithm", "n_step", std::int64_t{1}},
                   {"algorithm", "target_every", std::int64_t{1}},
                   {"algorithm", "target_part", 0.005},
                   {"optimizer", "learning_rate", 3e-4}},
      .refusals = Refusals(),
      .metrics = Metrics(),
      .networks = NetworksOf,
      .make = [](const ModelSpec& spec, const AlgorithmSettings& settings)
          -> std::unique_ptr<Algorithm> { return std::make_unique<Iql>(spec, settings); },
      .make_planner = [](const ModelSpec& spec, const AlgorithmSettings& settings,
                         std::uint64_t seed) -> std::unique_ptr<Planner> {
        return std::make_unique<PassesAndTargets>(spec, settings, seed);
      }};
  return kKind;
}

}  // namespace murmurate
