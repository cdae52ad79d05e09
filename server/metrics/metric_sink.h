// MetricSink: where readings go, one model's: progress.csv, reports.csv. A further one is a class of
// its own and a line in the list of metric_sinks.cc.
//
//   Progress --Reading--> MetricSink::Write      a row interval apart, on mmr-operate
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "murmurate/log.h"
#include "murmurate/status.h"
#include "server/metrics/reading.h"

namespace murmurate {

class MetricSink {
 public:
  virtual ~MetricSink() = default;
  /// What the model has come to, with means since the last call. One thread.
  virtual Status Write(const Reading& reading) = 0;
};

/// What a sink is opened with.
struct SinkPlace {
  std::string folder;                ///< of the model's files
  const Reading* resumed = nullptr;  ///< what a resumed run goes on from; null: a new run
  LogCallback log = {};
};
using OpenSink = Result<std::unique_ptr<MetricSink>> (*)(const SinkPlace& place);

/// The sinks of every model of a run, in the order in which they are written.
const std::vector<OpenSink>& MetricSinks();

}  // namespace murmurate
