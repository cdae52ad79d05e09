// TD3 (Fujimoto et al. 2018, arXiv 1802.09477): a policy that gives one action, and twin critics
// (twin_critics.h), learned from a replay:
//
//   y = sum_{i<k} gamma^i r_{t+i} + gamma^k min target_q(s_{t+k}, a'),
//   a' = target_policy(s_{t+k}) + noise, the noise cut to +- target_noise_clip and a' to +- 1
//   q1, q2    w/2 (q - y)^2                w: the weight that a prioritized replay gives a step
//   policy    -q1(s, policy(s)), at every policy_every-th update
//
// each the mean over a minibatch; k <= n_step (window_return.h). Actions are in units of their box,
// -1 to 1: tanh of the network's outputs. Agents add noise to them (ActSettings::kGaussian).
#include <algorithm>
#include <bit>
#include <cmath>

#include "server/learn/replay_algorithm.h"
#include "server/learn/twin_critics.h"
#include "server/network/single_network.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {
namespace {

constexpr std::string_view kTargetPolicy = "target_policy";

class Td3 : public ReplayAlgorithm {
 public:
  Td3(const ModelSpec& spec, const AlgorithmSettings& settings)
      : ReplayAlgorithm(spec, settings),
        noise_(static_cast<float>(settings.policy.target_noise)),
        noise_clip_(static_cast<float>(settings.policy.target_noise_clip)),
        policy_(spec, layout(), kPolicyNetwork, steps().most()),
        target_policy_(spec, layout(), kTargetPolicy, steps().most()),
        critics_(spec, layout(), steps().most()) {
    const auto rows = static_cast<std::size_t>(steps().most());
    for (AlignedFloats* block : {&action_, &d_action_}) *block = AlignedFloats(rows * numbers());
    target_ = AlignedFloats(rows);
  }

 private:
  std::size_t numbers() const { return static_cast<std::size_t>(policy_.outputs()); }
  void FindErrors(std::span<const float> parameters, Random& random) override;
  void AddGradients(const PlannedUpdate& update, std::span<const float> parameters, Random& random,
                    std::span<float> gradient) override;
  double Distance(std::size_t i) const override { return critics_.Distance(target_, i); }
  void AddPolicyGradient(std::span<const float> parameters, std::span<float> gradient);

  const float noise_, noise_clip_;
  SingleNetwork policy_, target_policy_;
  TwinCritics critics_;
  AlignedFloats action_, d_action_;  ///< [rows][numbers]
  AlignedFloats target_;             ///< [rows]
};

void Td3::FindErrors(std::span<const float> parameters, Random& random) {
  const Minibatch &here = steps().here(), &there = steps().there();
  const int rows = here.rows();
  const std::size_t numbers_in_all = steps().count() * numbers();
  target_policy_.Forward(parameters, there.observations(), rows, action_.data());
  for (std::size_t i = 0; i < numbers_in_all; ++i) {
    const float noise = noise_ * static_cast<float>(random.Normal());
    action_[i] = std::clamp(std::tanh(action_[i]) + std::clamp(noise, -noise_clip_, noise_clip_),
                            -1.0f, 1.0f);
  }
  critics_.FindTargets(parameters, there.observations(), rows, action_.data(), target_.data());
  for (std::size_t i = 0; i < steps().count(); ++i) {
    const float discount = steps().discount(i);
    target_[i] = steps().reward(i) + (discount > 0.0f ? discount * target_[i] : 0.0f);
  }
  for (std::size_t i = 0; i < numbers_in_all; ++i)
    action_[i] = std::bit_cast<float>(here.Action(0)[i]);
  critics_.Forward(parameters, here.observations(), rows, action_.data());
}

void Td3::AddGradients(const PlannedUpdate& update, std::span<const float> parameters, Random&,
                       std::span<float> gradient) {
  const TwinCritics::Fit fit =
      critics_.AddFit(parameters, target_, steps().here().weights(), gradient);
  Count(kLoss, fit.loss);
  Count(kValue, fit.value);
  if ((update.networks & 1u) != 0) AddPolicyGradient(parameters, gradient);
}

void Td3::AddPolicyGradient(std::span<const float> parameters, std::span<float> gradient) {
  const Minibatch& here = steps().here();
  const std::size_t numbers_in_all = steps().count() * numbers();
  policy_.Forward(parameters, here.observations(), here.rows(), action_.data());
  for (std::size_t i = 0; i < numbers_in_all; ++i) action_[i] = std::tanh(action_[i]);
  critics_.ForwardFirst(parameters, here.observations(), here.rows(), action_.data());
  double value = 0.0;
  for (std::size_t i = 0; i < steps().count(); ++i) {
    value += double{critics_.values(0)[i]};
    critics_.d_values(0)[i] = static_cast<float>(-1.0 / static_cast<double>(steps().count()));
  }
  critics_.BackwardToActions(parameters, false, d_action_.data());
  for (std::size_t i = 0; i < numbers_in_all; ++i) d_action_[i] *= 1.0f - action_[i] * action_[i];
  policy_.Backward(parameters, d_action_.data(), gradient);
  Count(kPolicySteps, 1.0);
  Count(kPolicyLoss, -value / static_cast<double>(steps().count()));
}

Result<ModelSpec> NetworksOf(ModelSpec spec, const AlgorithmSettings&) {
  if (spec.recurrent())
    return InvalidArgument(
        "td3 learns from single steps, and this model remembers: take the recurrent layer out, or "
        "name another algorithm");
  const ActionLayout plain(spec.spaces.action);
  if (!std::ranges::all_of(plain.parts(), [](const ActionPart& part) {
        return part.kind == ActionPart::Kind::kContinuous;
      }))
    return InvalidArgument(
        "td3 learns actions of numbers, and these have choices or switches in them: name another "
        "algorithm");
  spec.continuous = {.squashed = true, .deterministic = true};
  MURMURATE_RETURN_IF_ERROR(CheckContinuous(spec.spaces.action, spec.continuous));
  spec = TwinCritics::AddTo(spec, 0);
  spec.networks.push_back({.name = std::string(kTargetPolicy), .follows = spec.policy().name});
  return spec;
}

ActSettings Act(const AlgorithmSettings& settings, std::uint64_t learned_steps) {
  if (learned_steps < settings.replay.learning_starts) return {.mode = ActSettings::Mode::kUniform};
  return {.mode = ActSettings::Mode::kGaussian,
          .sigma = static_cast<float>(settings.policy.noise),
          .noise = settings.policy.noise_color};
}

}  // namespace

const AlgorithmKind& Td3Kind() {
  static const AlgorithmKind kKind = [] {
    AlgorithmKind kind =
        ReplayKind("td3", {"epsilon", "epsilon_ladder", "epsilon_ladder_alpha", "double_q",
                           "dueling", "quantiles", "initial_temperature", "target_entropy"});
    kind.defaults = CriticDefaults({{"algorithm", "policy_every", std::int64_t{2}},
                                    {"algorithm", "target_every", std::int64_t{2}},
                                    {"optimizer", "learning_rate", 1e-3}});
    kind.networks = NetworksOf;
    kind.act = Act;
    kind.make = [](const ModelSpec& spec,
                   const AlgorithmSettings& settings) -> std::unique_ptr<Algorithm> {
      return std::make_unique<Td3>(spec, settings);
    };
    return kind;
  }();
  return kKind;
}

}  // namespace murmurate
