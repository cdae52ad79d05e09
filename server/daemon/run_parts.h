// RunParts: what the models of a run share: what it was told, and the parts of the daemon through
// which they come and go. The daemon makes them before its first model and ends its models first.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/daemon/daemon.h"
#include "server/daemon/live_numbers.h"
#include "server/daemon/run_log.h"
#include "server/daemon/shard_waits.h"
#include "server/hooks/hooks.h"
#include "server/ingest/ingest.h"
#include "server/operate/learning_pause.h"
#include "shared/weights/publishing.h"

namespace murmurate {

struct RunParts {
  RunParts(const Config& given, DaemonOptions given_options, Signals* given_signals,
           RunDirectory given_directory, std::unique_ptr<TrainingPlaces> given_places)
      : config(given),
        options(std::move(given_options)),
        signals(given_signals),
        directory(std::move(given_directory)),
        places(std::move(given_places)) {}

  const Config config;
  DaemonOptions options;
  Signals* const signals;
  RunDirectory directory;
  const std::unique_ptr<TrainingPlaces> places;
  std::optional<Log> log_file;
  LogCallback log;
  SocketContext context;
  std::unique_ptr<LearningPause> pause;
  std::unique_ptr<Ingest> ingest;
  std::unique_ptr<Publishing> publishing;
  std::unique_ptr<Operate> operate;
  std::optional<LiveNumbers> live;
  ShardWaits shard_waits;
  std::vector<std::string> addresses;
  std::unique_ptr<Hooks> hooks;  ///< null: the run has none
};

}  // namespace murmurate
