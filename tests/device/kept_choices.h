// KeptChoices: AlgorithmChoices in memory, for tests.
#pragma once

#include <map>
#include <string>

#include "server/compute/device/algorithm_choices.h"

namespace murmurate {

struct KeptChoices : AlgorithmChoices {
  std::string Find(const std::string& call) override {
    const auto found = kept.find(call);
    return found == kept.end() ? "" : found->second;
  }
  void Keep(const std::string& call, const std::string& algorithm) override {
    kept[call] = algorithm;
  }

  std::map<std::string, std::string> kept;
};

}  // namespace murmurate
