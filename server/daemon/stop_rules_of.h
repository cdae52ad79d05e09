// StopRulesOf: when the run of a config ends by itself.
#pragma once

#include "server/config/config.h"
#include "server/operate/stop_rules.h"

namespace murmurate {

/// The rules of run.steps, stop_at_steps and stop_at_return. An evaluation reaches stop_at_return,
/// too, where the first model learns from a replay.
StopRules StopRulesOf(const Config& config);

}  // namespace murmurate
