// ReportedFile: reports.csv: the numbers that a game reports by name (Agent::Report), averaged over
// the episodes of a row interval: steps,name,mean,count. The file appears with the first of them.
#pragma once

#include "server/metrics/metric_sink.h"

namespace murmurate {

Result<std::unique_ptr<MetricSink>> OpenReportedFile(const SinkTarget& target);

}  // namespace murmurate
