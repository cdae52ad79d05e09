// Models of every kind of action, for the tests of heads and losses.
#pragma once

#include <vector>

#include "shared/model/policy_and_value.h"

namespace murmurate {

inline std::vector<ModelSpec> ManyActionModels() {
  const Space everything = Dict({{"move", Discrete(5)},
                                 {"turn", Box({3}, -1, 2)},
                                 {"buttons", MultiBinary(2)},
                                 {"weapon", MultiDiscrete({2, 17})}});
  std::vector<ModelSpec> models;
  const auto add = [&](const Space& action, const ContinuousSettings& continuous = {}) {
    models.push_back(PolicyAndValue{
        .spaces = {Box({3}), action}, .trunk = {{8, Activation::kTanh}}, .continuous = continuous});
  };
  add(Discrete(2));
  add(MultiDiscrete({3, 2, 4}));
  add(MultiBinary(5));
  add(Box({3}));
  add(Box({2}), {.state_dependent_deviation = true});
  add(Box({1}, -1, 1), {.squashed = true});
  add(everything);
  add(everything, {.state_dependent_deviation = true, .squashed = true});
  return models;
}

inline constexpr int kManyRows[] = {1, 31, 32, 33, 255, 256, 257};

}  // namespace murmurate
