// The metrics of a hook: what `murmurate status` says of it.
#pragma once

#include "server/metrics/metric.h"

namespace murmurate {

inline constexpr Metric kHookKind{"hook/kind", MetricKind::kText, "", "", "kind", false};
inline constexpr Metric kHookState{
    "hook/state", MetricKind::kText, "", "what it does, or why it no longer does", "state", false};
inline constexpr Metric kHookCalls{
    "hook/calls", MetricKind::kTotal, "", "that have returned", "calls", false};
inline constexpr Metric kHookSeconds{"hook/seconds",     MetricKind::kTotal, "s",
                                     "inside its calls", "seconds",          false};
inline constexpr Metric kHookLongest{"hook/longest_s",   MetricKind::kGauge, "s",
                                     "its longest call", "longest_s",        false};
inline constexpr Metric kHookFailures{"hook/failures",     MetricKind::kTotal, "",
                                      "calls that failed", "failures",         false};
inline constexpr Metric kHookTrouble{"hook/trouble",     MetricKind::kText, "",
                                     "the last failure", "trouble",         false};
inline constexpr Metric kHookDropped{"hook/dropped", MetricKind::kTotal,
                                     "events",       "for which its queue had no room",
                                     "dropped",      false};
inline constexpr Metric kHookWaiting{"hook/waiting",           MetricKind::kGauge, "events",
                                     "that wait in its queue", "waiting",          false};

}  // namespace murmurate
