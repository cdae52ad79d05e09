// AlgorithmDefaults: what a key that is not set means under an algorithm, where that is not what
// the table of keys says.
#pragma once

#include "server/learn/algorithm.h"
#include "server/schema/config_reader.h"
#include "server/schema/config_rules.h"

namespace murmurate {

/// The value under `kind` of a key that is not set, and where it comes from.
ConfigEntry DefaultOf(const ConfigRule& rule, const AlgorithmKind& kind);

/// What a KeyRefusal looks at; of what no algorithm looks at (lists, schedules): not set.
KeyValue ToKeyValue(const ConfigValue& value);

}  // namespace murmurate
