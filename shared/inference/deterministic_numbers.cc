#include "shared/inference/deterministic_numbers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "shared/core/check.h"
#include "shared/inference/action_head.h"
#include "shared/inference/portable_tanh.h"

namespace murmurate {
namespace {

using Mode = ActSettings::Mode;

float ActionOf(float output, bool squashed) {
  return squashed ? static_cast<float>(PortableTanh(output)) : output;
}

float SigmaOf(const ActSettings& settings) {
  return settings.mode == Mode::kGaussian ? settings.sigma : 0.0f;
}

/// log P(z > `from`) of a normal z.
double LogTail(double from) {
  return std::log(std::max(0.5 * std::erfc(from / std::numbers::sqrt2), 1e-300));
}

/// Of `number` when it is clip(action + sigma z, -1, 1), z normal.
float LogProbabilityOf(float number, float action, float sigma) {
  if (sigma == 0.0f)
    return number == std::clamp(action, -1.0f, 1.0f) ? 0.0f : kForbiddenLogProbability;
  const double z = (double{number} - action) / sigma;
  if (number >= 1.0f) return static_cast<float>(LogTail(z));
  if (number <= -1.0f) return static_cast<float>(LogTail(-z));
  const double density =
      -0.5 * z * z - std::log(double{sigma}) - 0.5 * std::log(2.0 * std::numbers::pi);
  return static_cast<float>(std::max(density, double{kForbiddenLogProbability}));
}

/// `noise(i)`: of number i.
template <typename Noise>
float ChooseWith(const ActionPart& part, bool squashed, const float* outputs, float sigma,
                 const Noise& noise, std::int32_t* action) {
  float log_prob = -0.0f;
  for (int i = 0; i < part.count; ++i) {
    const float without = ActionOf(outputs[i], squashed);
    const float number = std::clamp(without + sigma * noise(i), -1.0f, 1.0f);
    action[i] = std::bit_cast<std::int32_t>(number);
    log_prob += LogProbabilityOf(number, without, sigma);
  }
  return log_prob;
}

}  // namespace

float ChooseDeterministic(const ActionPart& part, bool squashed, const float* outputs,
                          const ActSettings& settings, Random& random, PinkNoise* pink,
                          std::int32_t* action) {
  const float sigma = SigmaOf(settings);
  const auto choose = [&](const auto& noise) {
    return ChooseWith(part, squashed, outputs, sigma, noise, action);
  };
  if (sigma == 0.0f) return choose([](int) { return 0.0f; });
  if (settings.noise == ActSettings::Noise::kWhite)
    return choose([&](int) { return static_cast<float>(random.Normal()); });
  MURMURATE_CHECK(pink != nullptr, "pink noise comes from a generator of the agent's own");
  const std::span<const float> numbers = pink->Next(part.first_word, part.count, random);
  return choose([&](int i) { return numbers[static_cast<std::size_t>(i)]; });
}

float DeterministicLogProbability(const ActionPart& part, bool squashed, const float* outputs,
                                  const ActSettings& settings, const std::int32_t* action) {
  if (settings.mode == Mode::kUniform)
    return static_cast<float>(-std::numbers::ln2) * static_cast<float>(part.count);
  float log_prob = -0.0f;
  for (int i = 0; i < part.count; ++i)
    log_prob += LogProbabilityOf(std::bit_cast<float>(action[i]), ActionOf(outputs[i], squashed),
                                 SigmaOf(settings));
  return log_prob;
}

float UniformDeterministic(const ActionPart& part, Random& random, std::int32_t* action) {
  for (int i = 0; i < part.count; ++i)
    action[i] = std::bit_cast<std::int32_t>(2.0f * random.Uniform() - 1.0f);
  return static_cast<float>(-std::numbers::ln2) * static_cast<float>(part.count);
}

}  // namespace murmurate
