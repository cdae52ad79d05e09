// [settings] as it stands in a config, made into what moves the numbers (game_settings.h).
#pragma once

#include <string>

#include "murmurate/status.h"
#include "server/learn/game_settings.h"
#include "server/schema/config_rules.h"

namespace murmurate {

/// The rule for a setting of any name.
ConfigRule SettingRule();

/// A value that suits the rule; of a schedule without steps `over_the_budget` is set.
GameSetting MakeGameSetting(const std::string& name, const ConfigValue& value);

/// The value that a setting moves towards: a number itself, else `to`. What `murmurate eval` plays.
double GoalOf(const GameSetting& setting);

}  // namespace murmurate
