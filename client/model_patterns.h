// Which model plays an agent of which name (ClientOptions::models).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "murmurate/client.h"

namespace murmurate {

/// Whether `name` reads as `pattern`, in which * stands for any letters, none as well, and ? for
/// one; everything else for itself. Any bytes; the time is at most their product.
bool Matches(std::string_view pattern, std::string_view name);

/// That every pattern has letters and every model a name that the wire can carry.
Status CheckModelPatterns(const std::vector<ModelPattern>& models);

/// The model of the first pattern that matches, or `name` itself.
const std::string& ModelOf(const std::vector<ModelPattern>& models, const std::string& name);

}  // namespace murmurate
