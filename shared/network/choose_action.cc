#include <algorithm>
#include <cmath>

#include "shared/core/check.h"
#include "shared/network/policy.h"

namespace murmurate {
namespace {

int Greedy(std::span<const float> logits) {
  return static_cast<int>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

/// Sum of exp((logit - top) / temperature), in order.
float ExpSum(std::span<const float> logits, float top, float scale) {
  float sum = 0;
  for (const float logit : logits) sum += std::exp((logit - top) * scale);
  return sum;
}

int Draw(std::span<const float> logits, float top, float scale, float target) {
  const int last = static_cast<int>(logits.size()) - 1;
  float sum = 0;
  for (int j = 0; j < last; ++j) {
    sum += std::exp((logits[j] - top) * scale);
    if (target < sum) return j;
  }
  return last;
}

ActionChoice EpsilonGreedy(std::span<const float> logits, float epsilon, Random& random) {
  const int n = static_cast<int>(logits.size()), best = Greedy(logits);
  const bool explore = random.Uniform() < epsilon;
  const int action = explore ? static_cast<int>(random.UniformInt(n)) : best;
  const float uniform = epsilon / static_cast<float>(n);
  return {action, std::log(action == best ? 1 - epsilon + uniform : uniform)};
}

}  // namespace

ActionChoice ChooseAction(std::span<const float> logits, const ActSettings& settings,
                          Random& random) {
  MURMURATE_CHECK(settings.mode != ActSettings::Mode::kGaussian, "discrete actions have no sigma");
  if (settings.mode == ActSettings::Mode::kUniform)
    return ChooseUniform(static_cast<int>(logits.size()), random);
  if (settings.mode == ActSettings::Mode::kEpsilon)
    return EpsilonGreedy(logits, settings.epsilon, random);
  const int best = Greedy(logits);
  const float top = logits[best], scale = 1.0f / settings.temperature;
  const float sum = ExpSum(logits, top, scale);
  const int action = settings.mode == ActSettings::Mode::kGreedy
                         ? best
                         : Draw(logits, top, scale, random.Uniform() * sum);
  return {action, (logits[action] - top) * scale - std::log(sum)};
}

ActionChoice ChooseUniform(int action_count, Random& random) {
  return {static_cast<std::int32_t>(random.UniformInt(action_count)),
          -std::log(static_cast<float>(action_count))};
}

}  // namespace murmurate
