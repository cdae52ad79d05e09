// ActSettings: how an agent turns the policy's output into an action. Travels with each version, so
// all schedules live in the learner. Deterministic play and evaluation are kGreedy whatever the
// learner says, and know neither noise nor a ladder.
#pragma once

#include <cmath>
#include <cstdint>

namespace murmurate {

struct ActSettings {
  enum class Mode : std::uint32_t {
    kSample,    ///< from the distribution softmax(logits / temperature)
    kGreedy,    ///< the most likely action
    kEpsilon,   ///< greedy, but uniform with probability epsilon
    kGaussian,  ///< of a deterministic head (ContinuousSettings): its action plus sigma times noise
    kUniform,   ///< any valid action, equally likely: warm-up, and play without weights
  };
  /// What the numbers of kSample and kGaussian are drawn with; choices and switches have no noise.
  enum class Noise : std::uint32_t {
    kWhite,  ///< independent from step to step
    kPink,   ///< PinkNoise, a new series for each agent, number and episode
  };
  Mode mode = Mode::kSample;
  float epsilon = 0.0f;
  float sigma = 0.0f;  ///< kGaussian: in units of half of the box's width
  float temperature = 1.0f;
  Noise noise = Noise::kWhite;
  /// kEpsilon: an agent's epsilon is epsilon^(1 + ladder_alpha i / (ladder_count - 1)), where i is
  /// its learner-wide index modulo ladder_count (Horgan et al. 2018, Ape-X: alpha 7). 0: all agents
  /// have `epsilon`. It is no count of live agents: a rung stays where it is when agents come.
  std::uint32_t ladder_count = 0;
  float ladder_alpha = 0.0f;
  friend bool operator==(const ActSettings&, const ActSettings&) = default;
};

/// The epsilon of the agent with the learner-wide index `agent`.
inline float EpsilonOf(const ActSettings& settings, std::uint32_t agent) {
  if (settings.ladder_count < 2) return settings.epsilon;
  const double rung = agent % settings.ladder_count;
  const double exponent = 1.0 + settings.ladder_alpha * rung / (settings.ladder_count - 1.0);
  return static_cast<float>(std::pow(double{settings.epsilon}, exponent));
}

}  // namespace murmurate
