// The text that a run shows while it goes: the lines of a table, or one line.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "server/metrics/reading.h"

namespace murmurate {

// The numbers that the screen knows beside the metrics of a model.
inline constexpr Metric kBudget{"screen/budget",      MetricKind::kTotal, "steps",
                                "to be learned from", "budget",           false};
inline constexpr Metric kTargetReturn{
    "screen/target", MetricKind::kGauge, "", "the return that ends the run", "target", false};
inline constexpr Metric kEta{"screen/eta_s",
                             MetricKind::kGauge,
                             "s",
                             "until the budget is spent, at the present rate",
                             "eta_s",
                             false};
inline constexpr Metric kActors{"screen/actors", MetricKind::kTotal, "", "live", "actors", false};
inline constexpr Metric kAgents{"screen/agents", MetricKind::kTotal, "", "theirs", "agents", false};
inline constexpr Metric kWaits{"screen/waiting",     MetricKind::kText, "",
                               "who waits for whom", "waiting",         false};

struct ScreenView {
  std::string run;
  Reading model;  ///< the run's first, with the metrics above
  std::vector<std::pair<std::string, double>> settings = {};  ///< of the games
  std::vector<Reading> streams = {};
  bool only_streams = false;  ///< no actor plays: there are no returns and no episodes
};

/// Each of the same width, but for sentences below the table.
std::vector<std::string> TableLines(const ScreenView& view);
std::string OneLine(const ScreenView& view);

}  // namespace murmurate
