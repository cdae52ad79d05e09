#include "server/metrics/row_values.h"

#include "server/metrics/model_metrics.h"

namespace murmurate {

std::string ReportedName(const MetricSample& sample) {
  const bool own = *sample.metric == kReported && sample.label.find('/') == std::string::npos;
  return own ? "rollout/" + sample.label : sample.label;
}

std::vector<std::pair<std::string, MetricValue>> RowValues(const Reading& reading) {
  std::vector<std::pair<std::string, MetricValue>> values;
  for (const MetricSample& sample : reading.samples())
    if (sample.metric->in_files && sample.value.number())
      values.emplace_back(
          sample.label.empty() ? std::string(sample.metric->name) : ReportedName(sample),
          sample.value);
  return values;
}

}  // namespace murmurate
