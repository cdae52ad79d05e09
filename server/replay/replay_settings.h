// ReplaySettings: how large a replay is and how it is sampled.
#pragma once

#include <cstdint>

namespace murmurate {

struct ReplaySettings {
  std::uint64_t capacity = 100'000;
  int window = 1;
  int minibatch = 128;
  double samples_per_insert = 32;
  std::uint64_t learning_starts = 1000;
  int most_updates = 8;
  double priority_exponent = 0;
  double importance_exponent = 0.4;
  double priority_floor = 1e-6;
};

}  // namespace murmurate
