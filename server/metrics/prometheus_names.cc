#include "server/metrics/prometheus_names.h"

#include <algorithm>

namespace murmurate {
namespace {

bool IsLetterOrDigit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// Takes `ending` off the end of `name`, where it is there.
void TakeOff(std::string_view ending, std::string* name) {
  if (name->ends_with(ending)) name->resize(name->size() - ending.size());
}

void End(std::string_view ending, std::string* name) {
  if (!name->ends_with(ending)) *name += ending;
}

void EndWithUnit(std::string_view unit, std::string* name) {
  if (unit == "s") {
    TakeOff("_s", name);
    End("_seconds", name);
  } else if (unit == "bytes") {
    End("_bytes", name);
  } else if (unit == "of 1") {
    End("_ratio", name);
  } else if (unit.ends_with("/s") && name->ends_with("_per_s")) {
    *name += "econd";
  }
}

}  // namespace

std::string_view PrometheusType(const Metric& metric) {
  switch (metric.kind) {
    case MetricKind::kCounter:
    case MetricKind::kTotal:
      return "counter";
    case MetricKind::kGauge:
    case MetricKind::kMean:
    case MetricKind::kMax:
      return "gauge";
    case MetricKind::kHistogram:
      return "histogram";
    case MetricKind::kText:
      break;
  }
  return "";
}

std::string PrometheusName(const Metric& metric) {
  std::string name = "murmurate_" + std::string(metric.name);
  std::ranges::replace_if(
      name, [](char c) { return !IsLetterOrDigit(c); }, '_');
  EndWithUnit(metric.unit, &name);
  if (PrometheusType(metric) == "counter") End("_total", &name);
  return name;
}

}  // namespace murmurate
