// The patterns that say which model plays an agent of which name (ClientOptions::models).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "murmurate/client.h"

namespace murmurate {

/// True when `name` matches `pattern`: * stands for any letters, also none, ? for one letter, and
/// everything else for itself. Any bytes; the time is at most the product of the two lengths.
bool Matches(std::string_view pattern, std::string_view name);

/// Checks that every pattern has letters and every model a name that the wire can carry.
Status CheckModelPatterns(const std::vector<ModelPattern>& models);

/// The model of the first pattern that matches, or `name` itself.
const std::string& ModelOf(const std::vector<ModelPattern>& models, const std::string& name);

}  // namespace murmurate
