// DQN (Mnih et al. 2015): a network that gives the value of each choice, learned from a replay by
//   y = sum_{i<k} gamma^i r_{t+i} + gamma^k Q_target(s_{t+k}, best action there)
// with k <= n_step (window_return.h). With double_q the best action is the policy's choice (van
// Hasselt et al. 2016, arXiv 1509.06461), without it the target's. Masks hold wherever a maximum is
// taken. The loss is Huber's with delta 1 on Q - y, the mean over a minibatch's windows, each times
// its weight, and over the variables of an action (choice_values.h).
//
// The network is the policy itself: agents play its best choice, and with probability epsilon any.
#include <algorithm>
#include <cmath>
#include <string>

#include "server/learn/choice_values.h"
#include "server/learn/replay_algorithm.h"
#include "server/network/single_network.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {
namespace {

constexpr std::string_view kTargetNetwork = "target";

class Dqn : public ReplayAlgorithm {
 public:
  Dqn(const ModelSpec& spec, const AlgorithmSettings& settings)
      : ReplayAlgorithm(spec, settings),
        double_q_(settings.double_q),
        choices_(ActionLayout(spec.spaces.action, spec.continuous)),
        policy_(spec, layout(), kPolicyNetwork, steps().most()),
        target_(spec, layout(), kTargetNetwork, steps().most()) {
    const auto rows = static_cast<std::size_t>(steps().most());
    for (AlignedFloats* block : {&q_, &next_, &next_target_, &d_q_})
      *block = AlignedFloats(rows * outputs());
    target_value_ = AlignedFloats(rows);
  }

 private:
  std::size_t outputs() const { return static_cast<std::size_t>(policy_.outputs()); }
  void FindErrors(std::span<const float> parameters, Random& random) override;
  void AddGradients(const PlannedUpdate& update, std::span<const float> parameters, Random& random,
                    std::span<float> gradient) override;
  double Distance(std::size_t i) const override;
  void FindTargets(std::span<const float> parameters);
  void LearnStep(std::size_t i);
  float ErrorOf(std::size_t i, int variable) const;

  const bool double_q_;
  const ChoiceValues choices_;
  SingleNetwork policy_, target_;
  AlignedFloats q_, next_, next_target_, d_q_;  ///< [rows][outputs]
  AlignedFloats target_value_;                  ///< [rows]
};

void Dqn::FindErrors(std::span<const float> parameters, Random&) {
  FindTargets(parameters);
  const Minibatch& here = steps().here();
  policy_.Forward(parameters, here.observations(), here.rows(), q_.data());
}

void Dqn::FindTargets(std::span<const float> parameters) {
  const Minibatch& there = steps().there();
  target_.Forward(parameters, there.observations(), there.rows(), next_target_.data());
  if (double_q_) policy_.Forward(parameters, there.observations(), there.rows(), next_.data());
  const AlignedFloats& by = double_q_ ? next_ : next_target_;
  for (std::size_t i = 0; i < steps().count(); ++i) {
    target_value_[i] = steps().reward(i);
    if (steps().discount(i) == 0.0f) continue;
    const std::size_t at = i * outputs();
    target_value_[i] +=
        steps().discount(i) * static_cast<float>(choices_.ValueOfBest(
                                  by.data() + at, next_target_.data() + at, steps().MaskThere(i)));
  }
}

/// Of the value that a variable's choice has in step i, from the step's target.
float Dqn::ErrorOf(std::size_t i, int variable) const {
  const std::size_t output = choices_.OutputOf(variable, steps().here().Action(i));
  return q_[i * outputs() + output] - target_value_[i];
}

double Dqn::Distance(std::size_t i) const {
  double sum = 0.0;
  for (int variable = 0; variable < choices_.variables(); ++variable)
    sum += std::abs(double{ErrorOf(i, variable)});
  return sum / choices_.variables();
}

/// Its gradient: Huber's is the error cut to +- 1.
void Dqn::LearnStep(std::size_t i) {
  const Minibatch& here = steps().here();
  const float weight = here.weights()[i] / static_cast<float>(steps().count());
  const float part = weight / static_cast<float>(choices_.variables());
  for (int variable = 0; variable < choices_.variables(); ++variable) {
    const float error = ErrorOf(i, variable), size = std::abs(error);
    d_q_[i * outputs() + choices_.OutputOf(variable, here.Action(i))] =
        part * std::clamp(error, -1.0f, 1.0f);
    Count(kLoss, double{here.weights()[i]} *
                     (size <= 1.0f ? 0.5 * double{size} * size : double{size} - 0.5) /
                     choices_.variables());
    Count(kValue, (double{error} + target_value_[i]) / choices_.variables());
  }
}

void Dqn::AddGradients(const PlannedUpdate&, std::span<const float> parameters, Random&,
                       std::span<float> gradient) {
  std::fill_n(d_q_.begin(), steps().count() * outputs(), 0.0f);
  for (std::size_t i = 0; i < steps().count(); ++i) LearnStep(i);
  policy_.Backward(parameters, d_q_.data(), gradient);
}

Result<ModelSpec> NetworksOf(ModelSpec spec) {
  if (!ChoiceValues::HasChoicesOnly(ActionLayout(spec.spaces.action, spec.continuous)))
    return InvalidArgument(
        "dqn learns a value for each choice, and these actions have numbers or switches in them: "
        "name another algorithm, or give the game discrete actions");
  if (spec.recurrent())
    return InvalidArgument(
        "dqn learns from single steps, and this model remembers: take the recurrent layer out, or "
        "name another algorithm");
  NetworkSpec policy = spec.networks.front();
  spec.networks = {policy, {.name = std::string(kTargetNetwork), .follows = policy.name}};
  return spec;
}

ActSettings Act(const AlgorithmSettings& settings, std::uint64_t learned_steps) {
  return {.mode = ActSettings::Mode::kEpsilon,
          .epsilon = static_cast<float>(settings.policy.epsilon.At(learned_steps))};
}

}  // namespace

const AlgorithmKind& DqnKind() {
  static const AlgorithmKind kKind = [] {
    AlgorithmKind kind =
        ReplayKind("dqn", {"policy_every", "initial_temperature", "target_entropy", "noise",
                           "noise_color", "target_noise", "target_noise_clip"});
    kind.values = false;
    kind.defaults = {{"algorithm", "trajectory_length", std::int64_t{32}},
                     {"algorithm", "batch_steps", std::int64_t{256}},
                     {"algorithm", "epochs", std::int64_t{1}},
                     {"algorithm", "max_grad_norm", 10.0},
                     {"optimizer", "learning_rate", 1e-3}};
    kind.networks = NetworksOf;
    kind.act = Act;
    kind.make = [](const ModelSpec& spec,
                   const AlgorithmSettings& settings) -> std::unique_ptr<Algorithm> {
      return std::make_unique<Dqn>(spec, settings);
    };
    return kind;
  }();
  return kKind;
}

}  // namespace murmurate
