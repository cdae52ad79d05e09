// The names of metrics in Prometheus: murmurate_ and the metric's own, with _ for what may not be
// in one, then the unit, then _total for what only rises; a word that is there is not repeated:
//
//   perf/learner_wait (of 1)     murmurate_perf_learner_wait_ratio
//   parameters/wait_s (s)        murmurate_parameters_wait_seconds
//   train/trained_steps (count)  murmurate_train_trained_steps_total
//   time/time_elapsed (s)        murmurate_time_elapsed_seconds
//   time/total_timesteps (count) murmurate_time_timesteps_total
#pragma once

#include <string>
#include <string_view>

#include "server/metrics/metric.h"

namespace murmurate {

std::string PrometheusName(const Metric& metric);
/// "counter", "gauge" or "histogram"; "" for a text, which Prometheus has no place for.
std::string_view PrometheusType(const Metric& metric);

}  // namespace murmurate
