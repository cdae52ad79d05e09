// The defaults of an algorithm: what a key that is not set means under it, where that is not what
// the table of keys says.
#pragma once

#include "server/learn/algorithm.h"
#include "server/schema/config_reader.h"
#include "server/schema/config_rules.h"

namespace murmurate {

/// The algorithm that is named for a model; `model` "": for all that name none of their own.
const AlgorithmKind& KindFor(const ConfigEntries& entries, const std::string& model = "");

/// Gives each key of [algorithm] and [optimizer] that is not set what it means under the algorithm
/// of `model` and beside the keys that are set. `model` "", which comes first: for all that name no
/// algorithm of their own.
void ResolveAlgorithm(const std::string& model, ConfigEntries* entries);

/// The value under `kind` of a key that is not set, and where it comes from.
ConfigEntry DefaultOf(const ConfigRule& rule, const AlgorithmKind& kind);

/// The value as a KeyRefusal sees it; lists and schedules, which no algorithm looks at, are not
/// set.
KeyValue ToKeyValue(const ConfigValue& value);

}  // namespace murmurate
