// What a worker learns of a shard's settings from their text (ShardSettings::ToText), which a shard
// tells one that has no config: what the worker's half of the rule needs.
#pragma once

#include <string>
#include <string_view>

#include "murmurate/status.h"
#include "server/parameters/shard.h"

namespace murmurate {

/// The settings but the shard's optimizer, which no worker steps. kInvalidData: the text is not one
/// that ToText makes.
Result<ShardSettings> ParseRuleText(std::string_view text);

}  // namespace murmurate
