#include "shared/core/pink_noise.h"

#include <cmath>

#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr double kKeep[] = {0.995611, 0.980187, 0.912970, 0.660815, 0.151836};
constexpr double kWeight[] = {0.718159, -0.453594, 0.413682, -0.310919, 0.101304};
constexpr double kWeightOfRest = 0.020859;  // of what comes out of the last section

}  // namespace

PinkNoise::PinkNoise(int count)
    : states_(static_cast<std::size_t>(count)), numbers_(static_cast<std::size_t>(count)) {
  for (int i = 0; i < kSections; ++i)
    sections_[i] = {kKeep[i], std::sqrt(1.0 - kKeep[i] * kKeep[i]), kWeight[i]};
}

float PinkNoise::Step(State& state, double white) const {
  double sum = 0.0;
  for (int i = 0; i < kSections; ++i) {
    const Section& section = sections_[i];
    const double before = state[i];
    state[i] = section.keep * before + section.change * white;
    white = section.change * before - section.keep * white;
    sum += section.weight * state[i];
  }
  return static_cast<float>(sum + kWeightOfRest * white);
}

std::span<const float> PinkNoise::Next(int first, int count, Random& random) {
  MURMURATE_CHECK(first >= 0 && count >= 0 && first + count <= std::ssize(states_),
                  "noise has as many numbers as it was made for");
  if (begins_) {
    for (State& state : states_)
      for (double& x : state) x = random.Normal();
    begins_ = false;
  }
  for (int i = first; i < first + count; ++i) numbers_[i] = Step(states_[i], random.Normal());
  return {numbers_.data() + first, static_cast<std::size_t>(count)};
}

}  // namespace murmurate
