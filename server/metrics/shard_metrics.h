// The metrics of a shard of a parameter server, of one of its models. Counts begin with the shard's
// life, but for the version.
#pragma once

#include "server/metrics/metric.h"

namespace murmurate {

inline constexpr Metric kShardVersion{"shard/version", MetricKind::kTotal, "",
                                      "merges into the center, over all lives", "version"};
inline constexpr Metric kShardMembers{"shard/members", MetricKind::kGauge, "",
                                      "workers that train it now", "workers"};
inline constexpr Metric kShardPushes{"shard/pushes", MetricKind::kTotal, "",
                                     "contributions of workers, none counted twice", "pushes"};
inline constexpr Metric kShardMerged{"shard/merged", MetricKind::kTotal, "",
                                     "contributions that are part of the center", "merged"};
inline constexpr Metric kShardPushRate{"shard/pushes_per_s", MetricKind::kGauge, "pushes/s",
                                       "over about the last second", "pushes_per_s"};
inline constexpr Metric kShardWaiting{"shard/waiting_s", MetricKind::kGauge, "s",
                                      "for which a worker has waited for others by now",
                                      "waiting_s"};

/// Of the shard as a whole.
inline constexpr Metric kShardUptime{"shard/uptime_s", MetricKind::kGauge, "s",
                                     "since this life began"};

}  // namespace murmurate
