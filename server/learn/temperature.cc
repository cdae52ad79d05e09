#include "server/learn/temperature.h"

#include <cmath>

#include "shared/core/check.h"

namespace murmurate {

Temperature::Temperature(double initial) : log_alpha_(std::log(initial)) {}

double Temperature::alpha() const { return std::exp(log_alpha_); }

void Temperature::Step(double learning_rate, double excess) {
  constexpr double kBeta1 = 0.9, kBeta2 = 0.999, kEpsilon = 1e-8;
  const double gradient = -excess;
  if (!std::isfinite(gradient)) return;
  ++steps_;
  first_ += (1.0 - kBeta1) * (gradient - first_);
  second_ += (1.0 - kBeta2) * (gradient * gradient - second_);
  const double mean = first_ / (1.0 - std::pow(kBeta1, steps_)),
               square = second_ / (1.0 - std::pow(kBeta2, steps_));
  log_alpha_ -= learning_rate * mean / (std::sqrt(square) + kEpsilon);
}

void Temperature::Save(const StateWriter& writer) const {
  writer.Doubles("temperature", std::array{log_alpha_, first_, second_, steps_});
}

Status Temperature::Load(const StateReader& reader) {
  std::array<double, 4> saved;
  MURMURATE_RETURN_IF_ERROR(reader.Doubles("temperature", saved));
  log_alpha_ = saved[0];
  first_ = saved[1];
  second_ = saved[2];
  steps_ = saved[3];
  return {};
}

double TargetEntropyOfNumbers(const ActionLayout& layout) { return -double{1} * layout.words(); }

double TargetEntropyOfChoices(int choices) { return 0.98 * std::log(choices); }

}  // namespace murmurate
