// A node of TOML as a ConfigValue; the room's own business.
#pragma once

#include <toml++/toml.h>

#include "server/schema/config_rules.h"

namespace murmurate {

/// The value that a node holds, as its rule has it; not set when it holds none.
ConfigValue ToValue(const toml::node& node, const ConfigRule& rule);

}  // namespace murmurate
