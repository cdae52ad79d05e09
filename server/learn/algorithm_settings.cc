#include "server/learn/algorithm_settings.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "server/learn/algorithm.h"

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

AlgorithmSettings WithShape(AlgorithmSettings settings, const BatchShape& shape, bool recurrent) {
  const int steps = shape.steps(), before = settings.batch_steps;
  settings.burn_in = settings.burn_in * shape.length / settings.trajectory_length;
  settings.replay.sequence = settings.replay.sequence / settings.trajectory_length * shape.length;
  const auto part = static_cast<int>(std::int64_t{settings.minibatch} * steps / before);
  const bool one_pass = !settings.kind->many_updates;
  const bool whole = settings.minibatch >= before;
  const int least = std::min({32, steps, settings.minibatch}),
            most = std::max(2048, settings.minibatch);
  settings.minibatch = one_pass ? std::min(settings.minibatch, steps)
                       : whole  ? steps
                                : std::clamp(part, least, most);
  settings.trajectory_length = shape.length;
  settings.batch_steps = steps;
  if (recurrent)
    settings.threads =
        std::min(settings.threads, std::max(1, settings.minibatch / settings.trajectory_length));
  return settings;
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
