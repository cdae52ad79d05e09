#include "server/metrics/csv_file.h"
#include "server/metrics/metric_sink.h"
#include "server/metrics/reported_file.h"

namespace murmurate {

const std::vector<OpenSink>& MetricSinks() {
  static const std::vector<OpenSink> kSinks = {OpenProgressFile, OpenReportedFile};
  return kSinks;
}

}  // namespace murmurate
