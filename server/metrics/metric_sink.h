// MetricSink: where readings go, one model's: progress.csv, reports.csv, TensorBoard's event files,
// metrics.jsonl. A further one is a class of its own and a line in the list of metric_sinks.cc.
//
//   Progress --Reading--> MetricSink::Write      a row interval apart, on mmr-operate
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "murmurate/log.h"
#include "murmurate/status.h"
#include "server/metrics/metrics_settings.h"
#include "server/metrics/reading.h"

namespace murmurate {

struct RunDescription;

class MetricSink {
 public:
  virtual ~MetricSink() = default;
  /// Writes the newest values of a model, with means since the last call. A metric that was not
  /// measured yet has no sample in it: a sink of columns goes by ProgressColumns. One thread.
  virtual Status Write(const Reading& reading) = 0;
};

/// SinkTarget tells a sink where to write and what to continue.
struct SinkTarget {
  std::string folder;  ///< of the model's files
  /// What a resumed run goes on from: rows behind its step count were written by a life that is
  /// lost, and are to be cut off. Null: a new run.
  const Reading* resumed = nullptr;
  LogCallback log = {};
  const RunDescription* run = nullptr;  ///< may be null; read while the sink is opened
  /// Of TensorBoard: the count over which curves are drawn; null: kEnvironmentSteps.
  const Metric* step = nullptr;
};
using OpenSink = Result<std::unique_ptr<MetricSink>> (*)(const SinkTarget& target);

/// The sinks of every model of a run, in the order in which they are written.
std::vector<OpenSink> MetricSinks(const MetricsSettings& settings = {});

}  // namespace murmurate
