#include <utility>

#include "server/learn/algorithm_settings.h"

namespace murmurate {
namespace {

constexpr std::pair<AlgorithmName, const char*> kNames[] = {
    {AlgorithmName::kPpo, "ppo"},
    {AlgorithmName::kImpala, "impala"},
    {AlgorithmName::kA2c, "a2c"},
    {AlgorithmName::kSupervised, "supervised"},
    {AlgorithmName::kBc, "bc"}};

}  // namespace

const char* TextOf(AlgorithmName name) {
  for (const auto& [known, text] : kNames) {
    if (known == name) return text;
  }
  return "";
}

std::optional<AlgorithmName> AlgorithmNamed(const std::string& text) {
  for (const auto& [known, name] : kNames) {
    if (name == text) return known;
  }
  return std::nullopt;
}

OptimizerSettings OptimizerOf(const AlgorithmSettings& settings) {
  const float epsilon = static_cast<float>(settings.optimizer_epsilon);
  const float weight_decay = static_cast<float>(settings.weight_decay);
  return {.name = settings.optimizer,
          .adam = {.epsilon = epsilon, .weight_decay = weight_decay},
          .rmsprop = {.decay = static_cast<float>(settings.optimizer_decay),
                      .epsilon = epsilon,
                      .weight_decay = weight_decay},
          .sgd = {.weight_decay = weight_decay},
          .momentum = {.delta = static_cast<float>(settings.optimizer_momentum),
                       .weight_decay = weight_decay},
          .adagrad = {.epsilon = epsilon, .weight_decay = weight_decay}};
}

}  // namespace murmurate
