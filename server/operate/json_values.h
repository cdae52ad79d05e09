// JSON that a learner or shard has answered, as values for FillText: `run`, `evaluation.steps`.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "server/metrics/fill_text.h"
#include "server/metrics/reading.h"

namespace murmurate {

/// A number, a text or a histogram (bounds, counts, sum); null where it is empty.
nlohmann::json ToJson(const MetricValue& value);

/// The value at `key`; empty when there is none.
MetricValue ValueAt(const nlohmann::json& json, std::string_view key);

inline std::string FillText(std::string_view pattern, const nlohmann::json& json) {
  return FillText(pattern, [&json](std::string_view key) { return ValueAt(json, key); });
}

/// A reading as an object: each metric at its key, what has no value as null. `object`: what is
/// there already.
nlohmann::json JsonOf(const Reading& reading, nlohmann::json object);

}  // namespace murmurate
