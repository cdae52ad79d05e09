// ReceivedWeights: a sink that keeps versions as they came, for tests to look at.
#pragma once

#include <vector>

#include "shared/weights/weights.h"

namespace murmurate {

struct ReceivedWeights : WeightSink {
  void Begin() override { coming.clear(); }
  void Put(std::size_t first, std::span<const float> more) override {
    in_order &= first == coming.size();
    coming.insert(coming.end(), more.begin(), more.end());
  }
  bool End(const VersionStamp& whole, const ActSettings& settings) override {
    stamp = whole;
    act = settings;
    numbers = coming;
    return true;
  }

  VersionStamp stamp;
  ActSettings act;
  std::vector<float> numbers;  ///< policy, statistics; of the last whole version
  std::vector<float> coming;
  bool in_order = true;
};

}  // namespace murmurate
