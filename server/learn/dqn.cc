// DQN (Mnih et al. 2015): networks that give the value of each choice (choice_networks.h), learned
// from a replay by
//   y = sum_{i<k} gamma^i r_{t+i} + gamma^k Q_target(s_{t+k}, best action there)
// with k <= n_step (window_return.h). With double_q the best action is the policy's choice (van
// Hasselt et al. 2016, arXiv 1509.06461), without it the target's. Masks hold wherever a maximum is
// taken. The loss is Huber's with delta 1 on Q - y, the mean over a minibatch's windows, each times
// its weight, and over the variables of an action (choice_values.h). With `quantiles` the targets'
// quantiles give as many numbers y, and the loss is that of quantile_loss.h; a priority is the
// distance of both means.
//
// Agents play the best choice of the policy, and with probability epsilon any.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "server/learn/choice_networks.h"
#include "server/learn/quantile_loss.h"
#include "server/learn/replay_algorithm.h"

namespace murmurate {
namespace {

class Dqn : public ReplayAlgorithm {
 public:
  Dqn(const ModelSpec& spec, const AlgorithmSettings& settings)
      : ReplayAlgorithm(spec, settings),
        double_q_(settings.double_q),
        learned_(spec, layout(), false, steps().most()),
        targets_(spec, layout(), true, steps().most()),
        loss_(quantiles()),
        target_(static_cast<std::size_t>(steps().most()) * quantiles()) {}

 private:
  std::size_t quantiles() const { return learned_.quantiles(); }
  const ChoiceValues& choices() const { return learned_.choices(); }
  void FindErrors(std::span<const float> parameters, Random& random) override;
  void AddGradients(const PlannedUpdate& update, std::span<const float> parameters, Random& random,
                    std::span<float> gradient) override;
  double Distance(std::size_t i) const override;
  void FindTargets(std::span<const float> parameters);
  void LearnStep(std::size_t i);
  /// Where step i has the quantiles of a variable's choice, in values().
  std::size_t PlaceOf(std::size_t i, int variable) const {
    const std::size_t output = choices().OutputOf(variable, steps().here().Action(i));
    return (i * learned_.outputs() + output) * quantiles();
  }
  std::span<const float> TargetsOf(std::size_t i) const {
    return std::span<const float>(target_).subspan(i * quantiles(), quantiles());
  }
  std::span<const float> ValuesOf(std::size_t i, int variable) const {
    return {learned_.values() + PlaceOf(i, variable), quantiles()};
  }

  const bool double_q_;
  ChoiceNetworks learned_, targets_;
  QuantileLoss loss_;
  std::vector<float> target_;  ///< [rows][quantiles]
};

float MeanOf(std::span<const float> numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0f) / static_cast<float>(numbers.size());
}

void Dqn::FindErrors(std::span<const float> parameters, Random&) {
  FindTargets(parameters);
  learned_.Forward(parameters, steps().here().observations(), steps().here().rows());
}

void Dqn::FindTargets(std::span<const float> parameters) {
  const Minibatch& there = steps().there();
  targets_.Forward(parameters, there.observations(), there.rows());
  if (double_q_) learned_.ForwardScores(parameters, there.observations(), there.rows());
  const float* const scores = double_q_ ? learned_.scores() : targets_.scores();
  for (std::size_t i = 0; i < steps().count(); ++i) {
    const float discount = steps().discount(i);
    const std::size_t at = i * learned_.outputs();
    for (std::size_t j = 0; j < quantiles(); ++j) {
      float& y = target_[i * quantiles() + j] = steps().reward(i);
      if (discount == 0.0f) continue;
      y += discount * static_cast<float>(choices().ValueOfBest(
                          scores + at, targets_.values() + at * quantiles() + j,
                          steps().MaskThere(i), quantiles()));
    }
  }
}

double Dqn::Distance(std::size_t i) const {
  const float target = MeanOf(TargetsOf(i));
  double sum = 0.0;
  for (int variable = 0; variable < choices().variables(); ++variable)
    sum += std::abs(double{MeanOf(ValuesOf(i, variable)) - target});
  return sum / choices().variables();
}

void Dqn::LearnStep(std::size_t i) {
  const float weight = steps().here().weights()[i];
  const auto variables = static_cast<float>(choices().variables());
  const float part = weight / static_cast<float>(steps().count()) / variables;
  for (int variable = 0; variable < choices().variables(); ++variable) {
    const std::span<const float> values = ValuesOf(i, variable);
    const double loss =
        loss_.Find(values, TargetsOf(i), part, learned_.d_values() + PlaceOf(i, variable));
    Count(kLoss, double{weight} * loss / choices().variables());
    Count(kValue, double{MeanOf(values)} / choices().variables());
  }
}

void Dqn::AddGradients(const PlannedUpdate&, std::span<const float> parameters, Random&,
                       std::span<float> gradient) {
  std::fill_n(learned_.d_values(), steps().count() * learned_.outputs() * quantiles(), 0.0f);
  for (std::size_t i = 0; i < steps().count(); ++i) LearnStep(i);
  learned_.Backward(parameters, gradient);
}

Result<ModelSpec> NetworksOf(ModelSpec spec, const AlgorithmSettings& settings) {
  if (!ChoiceValues::HasChoicesOnly(ActionLayout(spec.spaces.action, spec.continuous)))
    return InvalidArgument(
        "dqn learns a value for each choice, and these actions have numbers or switches in them: "
        "name another algorithm, or give the game discrete actions");
  if (spec.spaces.privileged.kind != Space::Kind::kNone)
    return InvalidArgument(
        "dqn plays by the values that it learns, so they cannot read a privileged observation: "
        "take "
        "it out of the game, or name another algorithm");
  if (spec.recurrent())
    return InvalidArgument(
        "dqn learns from single steps, and this model remembers: take the recurrent layer out, or "
        "name another algorithm");
  spec = ChoiceNetworks::AddTo(std::move(spec), settings);
  if (const Status status = CheckModel(spec); !status.ok()) return status;
  return spec;
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
    kind.act = ActByEpsilon;
    kind.make = [](const ModelSpec& spec,
                   const AlgorithmSettings& settings) -> std::unique_ptr<Algorithm> {
      return std::make_unique<Dqn>(spec, settings);
    };
    kind.loss = [](const AlgorithmSettings&) { return LossForm{LossForm::Kind::kChoiceValues}; };
    return kind;
  }();
  return kKind;
}

}  // namespace murmurate
