// ShardReport: what a shard of a parameter server answers to "status": one JSON object, and the
// same as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "murmurate/status.h"

namespace murmurate {

struct ShardReport {
  struct Model {
    std::string name;
    std::uint64_t version = 0;  ///< merges
    int workers = 0;
    std::string waits;  ///< who waits for whom and why, or ""
  };
  int shard = 0, shards = 1;
  std::string directory;
  int pid = 0;
  double uptime_s = 0;
  std::string listen;
  bool stays = false;  ///< it goes on when its last worker has left
  std::vector<Model> models;

  std::string ToJson() const;
};

/// False for the report of a learner.
bool IsShardReport(const std::string& json);
/// The text of `murmurate status`, from the JSON of a shard (perhaps of another version: what is
/// missing is left out).
Result<std::string> ShardText(const std::string& json);

}  // namespace murmurate
