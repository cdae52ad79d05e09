// SAC (Haarnoja et al. 2018, arXiv 1812.05905): a policy of squashed Gaussians that is paid for its
// entropy, learned from a replay with twin critics (twin_critics.h) and a temperature alpha that is
// tuned (temperature.h):
//
//   y = sum_{i<k} gamma^i r_{t+i} + gamma^k (min target_q(s_{t+k}, a') - alpha log pi(a' | s_{t+k}))
//   q1, q2    w/2 (q - y)^2              w: the weight that a prioritized replay gives a step
//   policy    alpha log pi(a | s) - min q(s, a),   a and a' drawn by the policy (squashed_numbers.h)
//
// each the mean over a minibatch, all three at the same parameters, and their gradient is one step.
// k <= n_step (window_return.h). Where a return has more than one step it is of the actions that
// were played, without the entropy of the steps between.
#include "server/learn/choice_values.h"
#include "server/learn/replay_algorithm.h"
#include "server/learn/soft_choices.h"
#include "server/learn/squashed_numbers.h"
#include "server/learn/temperature.h"
#include "server/learn/twin_critics.h"
#include "server/network/single_network.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {
namespace {

class SacOfNumbers : public ReplayAlgorithm {
 public:
  SacOfNumbers(const ModelSpec& spec, const AlgorithmSettings& settings)
      : ReplayAlgorithm(spec, settings),
        policy_(spec, layout(), kPolicyNetwork, steps().most()),
        critics_(spec, layout(), steps().most()),
        numbers_(ActionLayout(spec.spaces.action, spec.continuous), steps().most()),
        target_entropy_(settings.policy.target_entropy.value_or(
            TargetEntropyOfNumbers(ActionLayout(spec.spaces.action, spec.continuous)))),
        temperature_(settings.policy.initial_temperature) {
    const auto rows = static_cast<std::size_t>(steps().most());
    for (AlignedFloats* block : {&outputs_, &d_outputs_})
      *block = AlignedFloats(rows * static_cast<std::size_t>(policy_.outputs()));
    for (AlignedFloats* block : {&action_, &d_action_})
      *block = AlignedFloats(rows * numbers_.count());
    target_ = AlignedFloats(rows);
  }

  void Save(const StateWriter& writer) const override { temperature_.Save(writer); }
  Status Load(const StateReader& reader) override { return temperature_.Load(reader); }

 private:
  void FindErrors(std::span<const float> parameters, Random& random) override;
  void AddGradients(const PlannedUpdate& update, std::span<const float> parameters, Random& random,
                    std::span<float> gradient) override;
  double Distance(std::size_t i) const override { return critics_.Distance(target_, i); }
  void AddPolicyGradient(std::span<const float> parameters, Random& random,
                         std::span<float> gradient);
  void Report(double policy_loss, double entropy);

  SingleNetwork policy_;
  TwinCritics critics_;
  SquashedNumbers numbers_;
  const double target_entropy_;
  Temperature temperature_;
  AlignedFloats outputs_, d_outputs_;  ///< [rows][outputs of the policy]
  AlignedFloats action_, d_action_;    ///< [rows][numbers]
  AlignedFloats target_;               ///< [rows]
};

void SacOfNumbers::FindErrors(std::span<const float> parameters, Random& random) {
  const Minibatch &here = steps().here(), &there = steps().there();
  const int rows = here.rows();
  policy_.Forward(parameters, there.observations(), rows, outputs_.data());
  numbers_.Draw(outputs_.data(), rows, random);
  critics_.FindTargets(parameters, there.observations(), rows, numbers_.actions(), target_.data());
  const double alpha = temperature_.alpha();
  for (std::size_t i = 0; i < steps().count(); ++i) {
    const float discount = steps().discount(i);
    const double value = double{target_[i]} - alpha * numbers_.log_prob(i);
    target_[i] = steps().reward(i);
    if (discount > 0.0f) target_[i] += static_cast<float>(double{discount} * value);
  }
  numbers_.Encode(here.Action(0), rows, action_.data());
  critics_.Forward(parameters, here.observations(), rows, action_.data());
}

void SacOfNumbers::AddGradients(const PlannedUpdate&, std::span<const float> parameters,
                                Random& random, std::span<float> gradient) {
  const TwinCritics::Fit fit =
      critics_.AddFit(parameters, target_, steps().here().weights(), gradient);
  Count(kLoss, fit.loss);
  Count(kValue, fit.value);
  AddPolicyGradient(parameters, random, gradient);
}

void SacOfNumbers::AddPolicyGradient(std::span<const float> parameters, Random& random,
                                     std::span<float> gradient) {
  const Minibatch& here = steps().here();
  const int rows = here.rows();
  const auto count = static_cast<double>(rows);
  policy_.Forward(parameters, here.observations(), rows, outputs_.data());
  numbers_.Draw(outputs_.data(), rows, random);
  critics_.Forward(parameters, here.observations(), rows, numbers_.actions());
  const double alpha = temperature_.alpha();
  double log_prob = 0.0, value = 0.0;
  for (std::size_t i = 0; i < steps().count(); ++i) {
    const int smaller = critics_.values(1)[i] < critics_.values(0)[i] ? 1 : 0;
    critics_.d_values(smaller)[i] = static_cast<float>(-1.0 / count);
    critics_.d_values(1 - smaller)[i] = 0.0f;
    log_prob += numbers_.log_prob(i);
    value += double{critics_.values(smaller)[i]};
  }
  critics_.BackwardToActions(parameters, true, d_action_.data());
  numbers_.Gradient(d_action_.data(), static_cast<float>(alpha / count), d_outputs_.data());
  policy_.Backward(parameters, d_outputs_.data(), gradient);
  temperature_.Step(plan().learning_rate, log_prob / count + target_entropy_);
  Report((alpha * log_prob - value) / count, -log_prob / count);
}

void SacOfNumbers::Report(double policy_loss, double entropy) {
  Count(kPolicySteps, 1.0);
  Count(kPolicyLoss, policy_loss);
  Count(kEntropy, entropy);
  Count(kTemperature, temperature_.alpha());
}

constexpr Metric kTemperatureNow{"train/temperature", MetricKind::kMean, "",
                                 "mean weight of the entropy, in units of reward"};

Result<ModelSpec> NetworksOf(ModelSpec spec, const AlgorithmSettings&) {
  if (spec.recurrent())
    return InvalidArgument(
        "sac learns from single steps, and this model remembers: take the recurrent layer out, or "
        "name another algorithm");
  const ActionLayout plain(spec.spaces.action);
  if (ChoiceValues::HasChoicesOnly(plain)) return TwinCritics::AddTo(spec, plain.outputs());
  spec.continuous = {.state_dependent_deviation = true, .squashed = true};
  MURMURATE_RETURN_IF_ERROR(CheckContinuous(spec.spaces.action, spec.continuous));
  if (!SquashedNumbers::Fits(ActionLayout(spec.spaces.action, spec.continuous)))
    return InvalidArgument(
        "sac learns actions of numbers alone or of choices alone, and these mix them or have "
        "switches: name another algorithm, or give the game other actions");
  return TwinCritics::AddTo(spec, 0);
}

ActSettings Act(const AlgorithmSettings& settings, std::uint64_t learned_steps) {
  const bool warms_up = learned_steps < settings.replay.learning_starts;
  return {.mode = warms_up ? ActSettings::Mode::kUniform : ActSettings::Mode::kSample,
          .noise = settings.policy.noise_color};
}

}  // namespace

const AlgorithmKind& SacKind() {
  using A = ReplayAlgorithm;
  static const AlgorithmKind kKind = [] {
    AlgorithmKind kind = ReplayKind(
        "sac", {"epsilon", "epsilon_ladder", "epsilon_ladder_alpha", "double_q", "dueling",
                "quantiles", "policy_every", "noise", "target_noise", "target_noise_clip"});
    kind.defaults = CriticDefaults(
        {{"algorithm", "target_every", std::int64_t{1}}, {"optimizer", "learning_rate", 3e-4}});
    kind.metrics.push_back({&LearnReport::entropy, A::kEntropy, A::kPolicySteps});
    kind.metrics.push_back({&kTemperatureNow, A::kTemperature, A::kPolicySteps});
    kind.networks = NetworksOf;
    kind.act = Act;
    kind.make = [](const ModelSpec& spec,
                   const AlgorithmSettings& settings) -> std::unique_ptr<Algorithm> {
      if (ChoiceValues::HasChoicesOnly(ActionLayout(spec.spaces.action, spec.continuous)))
        return MakeSoftChoices(spec, settings);
      return std::make_unique<SacOfNumbers>(spec, settings);
    };
    kind.loss = [](const AlgorithmSettings&) { return LossForm{LossForm::Kind::kSoftNumbers}; };
    return kind;
  }();
  return kKind;
}

}  // namespace murmurate
