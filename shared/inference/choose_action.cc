#include <algorithm>
#include <cmath>

#include "shared/core/check.h"
#include "shared/inference/action_head.h"
#include "shared/inference/policy.h"

namespace murmurate {
namespace {

/// All has every choice, Allowed those of a mask (for a mask without any, All is used).
struct All {
  int n;
  bool operator()(int) const { return true; }
  int count() const { return n; }
  int nth(int k) const { return k; }
  int last() const { return n - 1; }
};

struct Allowed {
  const std::uint8_t* mask;
  int n;
  bool operator()(int j) const { return mask[j] != 0; }
  int count() const { return static_cast<int>(n - std::count(mask, mask + n, 0)); }
  int nth(int k) const {
    int j = 0;
    while (mask[j] == 0 || k-- > 0) ++j;
    return j;
  }
  int last() const { return nth(count() - 1); }
};

using Logits = std::span<const float>;

template <typename May>
int Greedy(Logits logits, const May& may) {
  int best = may.nth(0);
  for (int j = best + 1; j < may.n; ++j) {
    if (may(j) && logits[best] < logits[j]) best = j;
  }
  return best;
}

/// Sum of exp((logit - top) / temperature), in order.
template <typename May>
float ExpSum(Logits logits, const May& may, float top, float scale) {
  float sum = 0;
  for (int j = 0; j < may.n; ++j) {
    if (may(j)) sum += std::exp((logits[j] - top) * scale);
  }
  return sum;
}

template <typename May>
int Draw(Logits logits, const May& may, float top, float scale, float target) {
  const int last = may.last();
  float sum = 0;
  for (int j = 0; j < last; ++j) {
    if (!may(j)) continue;
    sum += std::exp((logits[j] - top) * scale);
    if (target < sum) return j;
  }
  return last;
}

template <typename May>
ActionChoice Uniform(const May& may, Random& random) {
  const int count = may.count();
  return {may.nth(static_cast<int>(random.UniformInt(count))),
          -std::log(static_cast<float>(count))};
}

template <typename May>
ActionChoice EpsilonGreedy(Logits logits, const May& may, float epsilon, Random& random) {
  const int best = Greedy(logits, may), count = may.count();
  const bool explore = random.Uniform() < epsilon;
  const int action = explore ? may.nth(static_cast<int>(random.UniformInt(count))) : best;
  const float uniform = epsilon / static_cast<float>(count);
  return {action, std::log(action == best ? 1 - epsilon + uniform : uniform)};
}

template <typename May>
ActionChoice Choose(Logits logits, const May& may, const ActSettings& settings, Random& random) {
  MURMURATE_CHECK(settings.mode != ActSettings::Mode::kGaussian, "discrete actions have no sigma");
  if (settings.mode == ActSettings::Mode::kUniform) return Uniform(may, random);
  if (settings.mode == ActSettings::Mode::kEpsilon)
    return EpsilonGreedy(logits, may, settings.epsilon, random);
  const int best = Greedy(logits, may);
  const float top = logits[best], scale = 1.0f / settings.temperature;
  const float sum = ExpSum(logits, may, top, scale);
  const int action = settings.mode == ActSettings::Mode::kGreedy
                         ? best
                         : Draw(logits, may, top, scale, random.Uniform() * sum);
  return {action, (logits[action] - top) * scale - std::log(sum)};
}

template <typename May>
float LogProbability(Logits logits, const May& may, const ActSettings& settings, int action) {
  if (action < 0 || action >= may.n || !may(action)) return kForbiddenLogProbability;
  const float count = static_cast<float>(may.count());
  if (settings.mode == ActSettings::Mode::kUniform) return -std::log(count);
  const int best = Greedy(logits, may);
  if (settings.mode == ActSettings::Mode::kEpsilon) {
    const float uniform = settings.epsilon / count;
    const float p = action == best ? 1 - settings.epsilon + uniform : uniform;
    return p > 0 ? std::log(p) : kForbiddenLogProbability;
  }
  const float top = logits[best], scale = 1.0f / settings.temperature;
  return (logits[action] - top) * scale - std::log(ExpSum(logits, may, top, scale));
}

bool AnyAllowed(const std::uint8_t* mask, int n) {
  return mask != nullptr && std::any_of(mask, mask + n, [](std::uint8_t m) { return m != 0; });
}

}  // namespace

ActionChoice ChooseAction(Logits logits, const ActSettings& settings, Random& random) {
  return Choose(logits, All{static_cast<int>(logits.size())}, settings, random);
}

ActionChoice ChooseUniform(int action_count, Random& random) {
  return Uniform(All{action_count}, random);
}

ActionChoice ChooseAllowed(Logits logits, const std::uint8_t* mask, const ActSettings& settings,
                           Random& random) {
  const int n = static_cast<int>(logits.size());
  if (!AnyAllowed(mask, n)) return Choose(logits, All{n}, settings, random);
  return Choose(logits, Allowed{mask, n}, settings, random);
}

ActionChoice ChooseUniformAllowed(int action_count, const std::uint8_t* mask, Random& random) {
  if (!AnyAllowed(mask, action_count)) return Uniform(All{action_count}, random);
  return Uniform(Allowed{mask, action_count}, random);
}

float LogProbabilityAllowed(Logits logits, const std::uint8_t* mask, const ActSettings& settings,
                            int action) {
  const int n = static_cast<int>(logits.size());
  if (!AnyAllowed(mask, n)) return LogProbability(logits, All{n}, settings, action);
  return LogProbability(logits, Allowed{mask, n}, settings, action);
}

}  // namespace murmurate
