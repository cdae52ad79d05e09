#include "server/learn/twin_critics.h"

#include <algorithm>
#include <cmath>

#include "shared/core/check.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {

ModelSpec TwinCritics::AddTo(const ModelSpec& spec, int outputs) {
  const NetworkSpec* const value = spec.Find(kValueNetwork);
  MURMURATE_CHECK(value != nullptr, "a policy and its value");
  NetworkSpec critic = value->shares.empty() ? *value : spec.policy();
  critic.published = false;
  critic.trained = true;
  critic.reads_action = outputs == 0;
  critic.outputs = std::max(outputs, 1);
  ModelSpec learned = spec;
  learned.networks = {spec.policy()};
  for (const char* name : {"q1", "q2"}) {
    critic.name = name;
    learned.networks.push_back(critic);
  }
  for (const char* name : {"q1", "q2"})
    learned.networks.push_back({.name = std::string("target_") + name, .follows = name});
  return learned;
}

TwinCritics::TwinCritics(const ModelSpec& spec, const ParameterLayout& layout, int max_rows)
    : critics_{SingleNetwork(spec, layout, "q1", max_rows),
               SingleNetwork(spec, layout, "q2", max_rows)},
      targets_{SingleNetwork(spec, layout, "target_q1", max_rows),
               SingleNetwork(spec, layout, "target_q2", max_rows)} {
  const auto rows = static_cast<std::size_t>(max_rows);
  const auto outputs = static_cast<std::size_t>(critics_[0].outputs());
  for (std::size_t i = 0; i < 2; ++i) {
    values_[i] = AlignedFloats(rows * outputs);
    d_values_[i] = AlignedFloats(rows * outputs);
  }
  const auto actions = static_cast<std::size_t>(critics_[0].action_features());
  other_ = AlignedFloats(rows * std::max(outputs, actions));
}

void TwinCritics::FindTargets(std::span<const float> parameters, const void* observations, int rows,
                              const float* actions, float* smaller) {
  targets_[0].Forward(parameters, observations, rows, smaller, actions);
  targets_[1].Forward(parameters, observations, rows, other_.data(), actions);
  const std::ptrdiff_t count = std::ptrdiff_t{rows} * outputs();
  for (std::ptrdiff_t i = 0; i < count; ++i) smaller[i] = std::min(smaller[i], other_[i]);
}

void TwinCritics::Forward(std::span<const float> parameters, const void* observations, int rows,
                          const float* actions) {
  rows_ = rows;
  for (std::size_t i = 0; i < 2; ++i)
    critics_[i].Forward(parameters, observations, rows, values_[i].data(), actions);
}

void TwinCritics::ForwardFirst(std::span<const float> parameters, const void* observations,
                               int rows, const float* actions) {
  rows_ = rows;
  critics_[0].Forward(parameters, observations, rows, values_[0].data(), actions);
}

double TwinCritics::Distance(std::span<const float> targets, std::size_t i) const {
  const double target = double{targets[i]};
  return 0.5 *
         (std::abs(double{values_[0][i]} - target) + std::abs(double{values_[1][i]} - target));
}

TwinCritics::Fit TwinCritics::AddFit(std::span<const float> parameters,
                                     std::span<const float> targets, const float* weights,
                                     std::span<float> gradient) {
  Fit fit;
  for (std::size_t critic = 0; critic < 2; ++critic) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(rows_); ++i) {
      const double value = double{values_[critic][i]}, error = value - double{targets[i]};
      d_values_[critic][i] = static_cast<float>(double{weights[i]} * error / rows_);
      fit.loss += 0.25 * double{weights[i]} * error * error;
      fit.value += 0.5 * value;
    }
  }
  Backward(parameters, gradient);
  return fit;
}

void TwinCritics::Backward(std::span<const float> parameters, std::span<float> gradient) {
  for (std::size_t i = 0; i < 2; ++i)
    critics_[i].Backward(parameters, d_values_[i].data(), gradient);
}

void TwinCritics::BackwardToActions(std::span<const float> parameters, bool both,
                                    float* d_actions) {
  critics_[0].Backward(parameters, d_values_[0].data(), {}, d_actions);
  if (!both) return;
  critics_[1].Backward(parameters, d_values_[1].data(), {}, other_.data());
  const std::ptrdiff_t count = std::ptrdiff_t{rows_} * critics_[1].action_features();
  for (std::ptrdiff_t i = 0; i < count; ++i) d_actions[i] += other_[i];
}

}  // namespace murmurate
