// PrometheusText: readings in the text format 0.0.4 of Prometheus, for an answer of the type
// kPrometheusContentType:
//
//   # HELP murmurate_train_updates_total optimizer steps
//   # TYPE murmurate_train_updates_total counter
//   murmurate_train_updates_total{model="default"} 1280
//
// Names and units are those of prometheus_names.h. Labels: the reading's subject has its name
// (model="default", actor="a-1", stream="pumps", hook="logging"; none where it has no name), and of a
// metric with several values `name` says which one it is. Texts and what has no value yet are left
// out, as is a second value of a series.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "server/metrics/reading.h"

namespace murmurate {

inline constexpr std::string_view kPrometheusContentType =
    "text/plain; version=0.0.4; charset=utf-8";

/// The most lines with a value. Readings behind it are left out, each sample as a whole;
/// murmurate_series_left_out says how many lines that were.
inline constexpr std::size_t kMaxPrometheusSeries = 10'000;

std::string PrometheusText(std::span<const Reading> readings);

}  // namespace murmurate
