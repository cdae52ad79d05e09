// Texts of a Config for people: what `murmurate check` shows, and the config.toml of a
// run.
#pragma once

#include <string>
#include <vector>

#include "server/config/config.h"

namespace murmurate {

/// A ConfigLine is an effective value, where it comes from, and what the key says.
struct ConfigLine {
  std::string path, value, origin, meaning;
};

/// The lines of a config by "section.key", in the order of the schema.
std::vector<ConfigLine> Explain(const Config& config);

/// TOML that loads to the same configuration.
std::string ResolvedToml(const Config& config);

}  // namespace murmurate
