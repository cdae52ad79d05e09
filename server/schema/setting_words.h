// Setting words: [settings] as it stands in a config, made into what moves the numbers
// (server/learn/game_settings.h).
#pragma once

#include <string>

#include "murmurate/status.h"
#include "server/learn/game_settings.h"
#include "server/schema/config_value.h"

namespace murmurate {

/// "rollout/success_rate >= 0.8" and the rest of a curriculum; the status says what is wrong with
/// it, to be put after "expected".
Result<Curriculum> MakeCurriculum(const ConfigCurriculum& words);

/// The value that a setting moves towards: a number itself, else `to`. What `murmurate eval` plays.
double GoalOf(const GameSetting& setting);

}  // namespace murmurate
