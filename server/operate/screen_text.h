// The text that a run shows while it goes: the lines of a table, or one line.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "server/metrics/reading.h"

namespace murmurate {

// The numbers that the screen knows beside the metrics of a model.
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
/// At most kLineWidth long; what went wrong, and who waits for whom, come behind that.
std::string OneLine(const ScreenView& view);
inline constexpr std::size_t kLineWidth = 80;

/// "experience is 0.6 versions old": between the weights that were played under and the newest.
std::string ExperienceInWords(double versions);

}  // namespace murmurate
