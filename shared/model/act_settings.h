// ActSettings: how an agent turns the policy's output into an action. Travels with each version, so
// all schedules live in the learner.
#pragma once

#include <cstdint>

namespace murmurate {

struct ActSettings {
  enum class Mode : std::uint32_t {
    kSample,    ///< from the distribution softmax(logits / temperature)
    kGreedy,    ///< the most likely action
    kEpsilon,   ///< greedy, but uniform with probability epsilon
    kGaussian,  ///< continuous: the mean plus noise of scale sigma (reserved: refused today)
    kUniform,   ///< any valid action, equally likely: warm-up, and play without weights
  };
  Mode mode = Mode::kSample;
  float epsilon = 0.0f;
  float sigma = 0.0f;
  float temperature = 1.0f;
  friend bool operator==(const ActSettings&, const ActSettings&) = default;
};

}  // namespace murmurate
