// SAC for actions of choices (Christodoulou 2019, arXiv 1910.07207): the critics give a value for
// each choice, and where SAC draws an action, the policy's probabilities weigh them all. Several
// variables have values of their own, and an action's value is the mean over them
// (choice_values.h); probabilities are those of what a mask allows.
//
//   V(s) = mean over variables of sum_c pi(c) min target_q(c)  +  alpha H(pi),  H summed over them
//   y = sum_{i<k} gamma^i r_{t+i} + gamma^k V(s_{t+k})
//   q1, q2    w/2 (q(choice made) - y)^2, the mean over variables
//   policy    -(mean over variables of sum_c pi(c) min q(c)) - alpha H(pi)
//
// The target entropy is 0.98 of the most that the allowed choices can have (temperature.h).
#include "server/learn/soft_choices.h"

#include <algorithm>
#include <cmath>

#include "server/learn/choice_values.h"
#include "server/learn/replay_algorithm.h"
#include "server/learn/temperature.h"
#include "server/learn/twin_critics.h"
#include "server/network/single_network.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {
namespace {

class SoftChoices : public ReplayAlgorithm {
 public:
  SoftChoices(const ModelSpec& spec, const AlgorithmSettings& settings)
      : ReplayAlgorithm(spec, settings),
        choices_(ActionLayout(spec.spaces.action, spec.continuous)),
        policy_(spec, layout(), kPolicyNetwork, steps().most()),
        critics_(spec, layout(), steps().most()),
        target_entropy_(settings.policy.target_entropy),
        temperature_(settings.policy.initial_temperature) {
    const auto rows = static_cast<std::size_t>(steps().most());
    for (AlignedFloats* block : {&logits_, &d_logits_, &next_})
      *block = AlignedFloats(rows * outputs());
    target_ = AlignedFloats(rows);
    probability_ = AlignedFloats(outputs());
  }

  void Save(const StateWriter& writer) const override { temperature_.Save(writer); }
  Status Load(const StateReader& reader) override { return temperature_.Load(reader); }

 private:
  /// Of one row.
  struct Expected {
    double value = 0;  ///< mean over variables
    double entropy = 0, target_entropy = 0;
  };

  std::size_t outputs() const { return static_cast<std::size_t>(policy_.outputs()); }
  void FindErrors(std::span<const float> parameters, Random& random) override;
  void AddGradients(const PlannedUpdate& update, std::span<const float> parameters, Random& random,
                    std::span<float> gradient) override;
  double Distance(std::size_t i) const override;
  double Error(int critic, std::size_t i, int variable) const {
    const std::size_t output = choices_.OutputOf(variable, steps().here().Action(i));
    return double{critics_.values(critic)[i * outputs() + output]} - double{target_[i]};
  }
  Expected Expect(const float* logits, const float* values, const std::uint8_t* mask);
  void AddCriticGradient(std::span<const float> parameters, std::span<float> gradient);
  void AddPolicyGradient(std::span<const float> parameters, std::span<float> gradient);
  void WriteGradient(const float* values, float* d_logits) const;

  const ChoiceValues choices_;
  SingleNetwork policy_;
  TwinCritics critics_;
  const std::optional<double> target_entropy_;
  Temperature temperature_;
  AlignedFloats logits_, d_logits_, next_;  ///< [rows][outputs]
  AlignedFloats target_;                    ///< [rows]
  AlignedFloats probability_;               ///< [outputs] of the last row expected
};

/// Leaves the probabilities of the row.
SoftChoices::Expected SoftChoices::Expect(const float* logits, const float* values,
                                          const std::uint8_t* mask) {
  Expected row;
  const auto allowed = [mask](int c) { return mask == nullptr || mask[c] != 0; };
  for (int variable = 0; variable < choices_.variables(); ++variable) {
    const auto [first, count] = choices_.variable(variable);
    float best = -HUGE_VALF;
    int open = 0;
    for (int c = first; c < first + count; ++c) {
      if (!allowed(c)) continue;
      best = std::max(best, logits[c]);
      ++open;
    }
    double sum = 0.0;
    for (int c = first; c < first + count; ++c) {
      probability_[c] = allowed(c) ? std::exp(logits[c] - best) : 0.0f;
      sum += double{probability_[c]};
    }
    for (int c = first; c < first + count; ++c) {
      probability_[c] = static_cast<float>(probability_[c] / sum);
      if (probability_[c] == 0.0f) continue;
      row.value += double{probability_[c]} * values[c] / choices_.variables();
      row.entropy -= double{probability_[c]} * std::log(double{probability_[c]});
    }
    row.target_entropy += TargetEntropyOfChoices(open);
  }
  return row;
}

void SoftChoices::FindErrors(std::span<const float> parameters, Random&) {
  const Minibatch &here = steps().here(), &there = steps().there();
  const int rows = here.rows();
  policy_.Forward(parameters, there.observations(), rows, logits_.data());
  critics_.FindTargets(parameters, there.observations(), rows, nullptr, next_.data());
  const double alpha = temperature_.alpha();
  for (std::size_t i = 0; i < steps().count(); ++i) {
    target_[i] = steps().reward(i);
    if (steps().discount(i) == 0.0f) continue;
    const std::size_t at = i * outputs();
    const Expected row = Expect(logits_.data() + at, next_.data() + at, steps().MaskThere(i));
    target_[i] +=
        static_cast<float>(double{steps().discount(i)} * (row.value + alpha * row.entropy));
  }
  critics_.Forward(parameters, here.observations(), rows, nullptr);
}

double SoftChoices::Distance(std::size_t i) const {
  double sum = 0.0;
  for (int variable = 0; variable < choices_.variables(); ++variable)
    sum += std::abs(Error(0, i, variable)) + std::abs(Error(1, i, variable));
  return 0.5 * sum / choices_.variables();
}

void SoftChoices::AddGradients(const PlannedUpdate&, std::span<const float> parameters, Random&,
                               std::span<float> gradient) {
  AddCriticGradient(parameters, gradient);
  AddPolicyGradient(parameters, gradient);
}

void SoftChoices::AddCriticGradient(std::span<const float> parameters, std::span<float> gradient) {
  const Minibatch& here = steps().here();
  const double part = 1.0 / choices_.variables();
  for (int critic = 0; critic < 2; ++critic) {
    float* const d_values = critics_.d_values(critic);
    std::fill_n(d_values, steps().count() * outputs(), 0.0f);
    for (std::size_t i = 0; i < steps().count(); ++i) {
      const double weight = part * double{here.weights()[i]};
      for (int variable = 0; variable < choices_.variables(); ++variable) {
        const double error = Error(critic, i, variable);
        d_values[i * outputs() + choices_.OutputOf(variable, here.Action(i))] =
            static_cast<float>(weight * error / static_cast<double>(steps().count()));
        Count(kLoss, 0.25 * weight * error * error);
        Count(kValue, 0.5 * part * (error + double{target_[i]}));
      }
    }
  }
  critics_.Backward(parameters, gradient);
}

/// d(-value - alpha entropy) by the logits that the row's probabilities came from, the mean over the
/// steps: pi (f - sum pi f) with f = -q / variables + alpha log pi, in each variable by itself.
void SoftChoices::WriteGradient(const float* values, float* d_logits) const {
  const double alpha = temperature_.alpha();
  for (int variable = 0; variable < choices_.variables(); ++variable) {
    const auto [first, count] = choices_.variable(variable);
    const auto slope = [&](int c) {
      return alpha * std::log(std::max(double{probability_[c]}, 1e-30)) -
             double{values[c]} / choices_.variables();
    };
    double mean = 0.0;
    for (int c = first; c < first + count; ++c) mean += double{probability_[c]} * slope(c);
    for (int c = first; c < first + count; ++c)
      d_logits[c] = static_cast<float>(double{probability_[c]} * (slope(c) - mean) /
                                       static_cast<double>(steps().count()));
  }
}

void SoftChoices::AddPolicyGradient(std::span<const float> parameters, std::span<float> gradient) {
  const Minibatch& here = steps().here();
  policy_.Forward(parameters, here.observations(), here.rows(), logits_.data());
  Expected sum;
  for (std::size_t i = 0; i < steps().count(); ++i) {
    const std::size_t at = i * outputs();
    for (std::size_t c = at; c < at + outputs(); ++c)
      next_[c] = std::min(critics_.values(0)[c], critics_.values(1)[c]);
    const Expected row = Expect(logits_.data() + at, next_.data() + at, steps().MaskHere(i));
    WriteGradient(next_.data() + at, d_logits_.data() + at);
    sum.value += row.value;
    sum.entropy += row.entropy;
    sum.target_entropy += row.target_entropy;
  }
  policy_.Backward(parameters, d_logits_.data(), gradient);
  const auto count = static_cast<double>(steps().count());
  const double alpha = temperature_.alpha();
  temperature_.Step(plan().learning_rate,
                    target_entropy_.value_or(sum.target_entropy / count) - sum.entropy / count);
  Count(kPolicySteps, 1.0);
  Count(kPolicyLoss, -(sum.value + alpha * sum.entropy) / count);
  Count(kEntropy, sum.entropy / count);
  Count(kTemperature, temperature_.alpha());
}

}  // namespace

std::unique_ptr<Algorithm> MakeSoftChoices(const ModelSpec& spec,
                                           const AlgorithmSettings& settings) {
  return std::make_unique<SoftChoices>(spec, settings);
}

}  // namespace murmurate
