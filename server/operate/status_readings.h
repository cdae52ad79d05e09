// The readings of all that a StatusReport knows: of each model, stream and actor, and of the
// learner itself, for outputs that take readings (server/metrics/prometheus_text.h).
#pragma once

#include <vector>

#include "server/metrics/reading.h"
#include "server/operate/status_report.h"

namespace murmurate {

// The metrics of a learner.
inline constexpr Metric kLearnerUptime{
    "learner/uptime_s", MetricKind::kGauge, "s", "since this life began", "", false};
inline constexpr Metric kLearnerMessages{
    "learner/received_messages", MetricKind::kTotal, "", "messages of actors", "", false};
inline constexpr Metric kLearnerBytes{
    "learner/received_bytes", MetricKind::kTotal, "bytes", "of these messages", "", false};
inline constexpr Metric kLearnerDuplicates{
    "learner/duplicates", MetricKind::kTotal, "", "trajectories that came again", "", false};
inline constexpr Metric kLearnerLost{"learner/lost_trajectories",
                                     MetricKind::kTotal,
                                     "",
                                     "that were lost when an earlier life of the learner ended",
                                     "",
                                     false};
inline constexpr Metric kLearnerRefusals{
    "learner/refusals", MetricKind::kTotal, "", "messages that were refused, by reason", "", false};
inline constexpr Metric kLearnerRefusedActors{"learner/refused_actors",
                                              MetricKind::kGauge,
                                              "",
                                              "actors that ask again and are turned away",
                                              "",
                                              false};
inline constexpr Metric kLearnerWaits{
    "learner/waiting", MetricKind::kGauge, "", "who waits for whom: how many such", "", false};
inline constexpr Metric kLearnerTroubles{
    "learner/troubles", MetricKind::kGauge, "", "what does not go as it should", "", false};

/// The learner's first, then the models', the streams' and the actors'.
std::vector<Reading> StatusReadings(const StatusReport& report);

}  // namespace murmurate
