#include "server/metrics/csv_file.h"
#include "server/metrics/json_lines_file.h"
#include "server/metrics/metric_sink.h"
#include "server/metrics/parameter_file.h"
#include "server/metrics/reported_file.h"
#include "server/metrics/tensorboard_file.h"

namespace murmurate {

std::vector<OpenSink> MetricSinks(const MetricsSettings& settings) {
  std::vector<OpenSink> sinks = {OpenProgressFile, OpenReportedFile};
  if (settings.tensorboard) sinks.push_back(OpenTensorBoardFile);
  if (settings.json_lines) sinks.push_back(OpenJsonLinesFile);
  if (settings.parameters) sinks.push_back(OpenParameterFile);
  return sinks;
}

}  // namespace murmurate
