// AlgorithmDefaults: what a key that is not set means under an algorithm, where that is not what
// the table of keys says (config_rules.h has ppo's defaults).
#pragma once

#include <string>
#include <vector>

#include "server/schema/config_reader.h"
#include "server/schema/config_rules.h"

namespace murmurate {

struct AlgorithmDefault {
  std::string section, key;
  ConfigValue value;  ///< std::monostate: not set; of `minibatch`: the whole batch
};

/// None for ppo and for a name that is no algorithm.
const std::vector<AlgorithmDefault>& AlgorithmDefaults(const std::string& algorithm);

/// The value under `algorithm` of a key that is not set, and where it comes from.
ConfigEntry DefaultOf(const ConfigRule& rule, const std::string& algorithm);

}  // namespace murmurate
