// TopSnapshot: what `murmurate top` shows of one moment.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "server/top/curve_plot.h"

namespace murmurate {

struct TopSnapshot {
  /// As a learner or a shard has answered "status", perhaps of another version: what is missing, or
  /// of another type, is not shown. Of its actors with "steps_per_s" and "lag" (actor_rates.h).
  nlohmann::json status;
  std::vector<nlohmann::json> shards = {};  ///< answers of shards that serve it
  std::size_t model = 0;                    ///< the one whose numbers and curves are shown
  std::vector<TopCurve> curves = {};
  std::string note = {};  ///< said in place of the keys: "the learner has not answered for 4 s"
};

/// The objects, or the strings, of the array at `key`; none where there is no array.
std::vector<nlohmann::json> ObjectsAt(const nlohmann::json& json, const char* key);
std::vector<std::string> StringsAt(const nlohmann::json& json, const char* key);

}  // namespace murmurate
