#include "server/learn/algorithm_settings.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace murmurate {

double Schedule::At(std::uint64_t learned_steps) const {
  if (steps == 0) return from;
  const double done =
      std::min(1.0, static_cast<double>(learned_steps) / static_cast<double>(steps));
  switch (shape) {
    case Shape::kCosine:
      return to + (from - to) * 0.5 * (1.0 + std::cos(std::numbers::pi * done));
    case Shape::kExponential:
      if (from > 0.0 && to > 0.0) return from * std::pow(to / from, done);
      break;
    case Shape::kLinear:
      break;
  }
  return from + (to - from) * done;
}

bool Schedule::SaysTheSame(const Schedule& other) const {
  Schedule of_the_same_budget = *this;
  if (over_the_budget && other.over_the_budget) of_the_same_budget.steps = other.steps;
  return of_the_same_budget == other;
}

OptimizerSettings OptimizerOf(const AlgorithmSettings& settings) {
  const float epsilon = static_cast<float>(settings.optimizer_epsilon);
  return {.name = settings.optimizer,
          .adam = {.beta1 = static_cast<float>(settings.optimizer_beta1),
                   .beta2 = static_cast<float>(settings.optimizer_beta2),
                   .epsilon = epsilon},
          .rmsprop = {.decay = static_cast<float>(settings.optimizer_decay), .epsilon = epsilon},
          .momentum = {.delta = static_cast<float>(settings.optimizer_momentum)},
          .adagrad = {.epsilon = epsilon},
          .weight_decay = static_cast<float>(settings.weight_decay),
          .value_rate = static_cast<float>(settings.value_rate_factor)};
}

}  // namespace murmurate
