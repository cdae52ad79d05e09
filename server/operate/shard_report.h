// ShardReport: what a shard of a parameter server answers to "status": one JSON object, and the
// same as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "murmurate/status.h"
#include "server/metrics/reading.h"

namespace murmurate {

struct ShardReport {
  struct Model {
    std::string name;
    std::uint64_t version = 0;  ///< merges
    int workers = 0;
    std::uint64_t pushes = 0, merged = 0;  ///< in this life
    double pushes_per_s = 0;
    double waiting_s = 0;  ///< how long a worker has waited for others; 0: none waits
    std::string waits;     ///< who waits for whom and why, or ""
  };
  int shard = 0, shards = 1;
  std::string directory;
  int pid = 0;
  double uptime_s = 0;
  std::string listen;
  bool stays = false;  ///< it goes on when its last worker has left
  std::vector<Model> models;

  /// `indent`: spaces a level; -1: all in one line.
  std::string ToJson(int indent = 2) const;
};

/// The numbers of a model of a shard (server/metrics/shard_metrics.h).
Reading ReadingOf(const ShardReport::Model& model);
/// The numbers of a shard as one reading, its name the shard's index; those of its models are
/// labelled with their names.
std::vector<Reading> ShardReadings(const ShardReport& report);

/// False for the report of a learner.
bool IsShardReport(const std::string& json);
/// The text of `murmurate status`, from the JSON of a shard (perhaps of another version: what is
/// missing is left out).
Result<std::string> ShardText(const std::string& json);

}  // namespace murmurate
