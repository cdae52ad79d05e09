// ParametersSettings: [parameters]: one learner, or one of many around a parameter server.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/parameters/hogwild_store.h"
#include "server/parameters/optimizer.h"
#include "server/parameters/rule_settings.h"

namespace murmurate {

template <typename S>
class Keys;

struct ParametersSettings {
  std::string mode = "local";     ///< or "server": this learner is a worker of the shards
  std::string collective;         ///< "mpi": this learner is a rank of a job; "": it is none
  double rank_warning_s = 30.0;   ///< of a job: a rank that does not come is named after this
  double rank_timeout_s = 600.0;  ///< and the job given up after this; 0: never
  RuleName rule = RuleName::kSync;
  HogwildSettings threads;       ///< of a learner under rule = "hogwild"
  std::optional<PushForm> form;  ///< unset: the rule's; so are those below
  std::optional<int> window;     ///< 0: a batch
  std::optional<double> elastic;
  double adag_scale = 1.0;
  std::vector<std::string> shards;  ///< their addresses
  int worker = 0, workers = 1, backup = 0, max_staleness = 0;
  bool overlap = false;
  std::optional<OptimizerSettings::Name> optimizer;  ///< the shards'; unset: the worker's
  double learning_rate = 0.0;                        ///< 0: the learner's at that time
  std::vector<double> rate_factors;                  ///< of each learner, by number; none: 1

  double rate_factor() const {  ///< this learner's
    return rate_factors.empty() ? 1.0 : rate_factors.at(static_cast<std::size_t>(worker));
  }

  bool shared() const { return mode == "server"; }
  std::optional<HogwildSettings> hogwild() const {
    return rule == RuleName::kHogwild ? std::optional(threads) : std::nullopt;
  }
};

const Keys<ParametersSettings>& ParametersKeys();

}  // namespace murmurate
