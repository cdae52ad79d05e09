// The metrics of actors, and the readings of them. Counts begin with the learner's life.
#pragma once

#include <span>
#include <vector>

#include "server/metrics/actor_report.h"
#include "server/metrics/reading.h"

namespace murmurate {

inline constexpr Metric kActorLive{
    "actor/live", MetricKind::kGauge, "", "actors of the name that are there", "", false};
inline constexpr Metric kActorStalled{
    "actor/stalled", MetricKind::kGauge, "", "of these, silent ones", "", false};
inline constexpr Metric kActorAgents{
    "actor/agents", MetricKind::kGauge, "", "agents of the live ones", "", false};
inline constexpr Metric kActorSilent{
    "actor/silent_s", MetricKind::kGauge, "s", "since the last of them was heard", "", false};
inline constexpr Metric kActorSteps{
    "actor/steps", MetricKind::kTotal, "steps", "environment steps that they took", "", false};
inline constexpr Metric kActorDropped{"actor/dropped_steps",
                                      MetricKind::kTotal,
                                      "steps",
                                      "environment steps that they never sent",
                                      "",
                                      false};
inline constexpr Metric kActorTrajectories{
    "actor/trajectories", MetricKind::kTotal, "", "trajectories that came", "", false};
inline constexpr Metric kActorRefused{
    "actor/refused", MetricKind::kTotal, "", "trajectories that were refused", "", false};
inline constexpr Metric kActorWaited{"actor/waited_s",
                                     MetricKind::kTotal,
                                     "s",
                                     "of their agents inside Act, for credit or weights",
                                     "",
                                     false};
inline constexpr Metric kActorPlayed{
    "actor/played_s", MetricKind::kTotal, "s", "of their agents, waits among it", "", false};
inline constexpr Metric kActorStaleness{"actor/staleness",
                                        MetricKind::kHistogram,
                                        "versions",
                                        "how old their trajectories' weights were in batches",
                                        "",
                                        false};

/// One reading a name, in the order of their first actors: what actors of one name did is added up,
/// so that a game that comes again, or many of one name, are one series.
std::vector<Reading> ActorReadings(std::span<const ActorReport> actors);

}  // namespace murmurate
