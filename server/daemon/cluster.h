// Cluster: what `train` with run.learners or run.shards starts beside itself: the shards of a
// parameter server and further learners, each a copy of this executable with files of its own:
//
//   runs/NAME/            learner 0, this process
//   runs/NAME/learner-1/  ...
//   runs/NAME/shard-0/    ...
//
// A shard that dies is started again and goes on from its checkpoint; a learner that dies is not:
// the others go on without it, unless it died as it began: that is an error of the first ten
// seconds. Main thread only. Stop leaves nothing running; it ends learners before shards, whatever
// way they end.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "murmurate/log.h"
#include "server/config/config.h"
#include "server/daemon/children.h"

namespace murmurate {

class Cluster {
 public:
  /// The addresses where the shards of this process's cluster will listen.
  static Result<std::vector<std::string>> ShardAddresses(int shards);

  /// `directory`: runs/NAME, with its config.toml. `resume`: from the checkpoints there.
  Status Start(const Config& config, const std::string& directory, bool resume);
  /// Notes which children have ended, and starts shards again. The status: why the run cannot go
  /// on, in one sentence.
  Status Watch(const LogCallback& log);
  /// Stops the learners before Stop, for a caller that has to tell the shards something in between.
  void StopLearners();
  void Stop();

 private:
  struct ShardProcess {
    std::vector<std::string> arguments;
    std::unique_ptr<Children> process;
    int starts = 0;
  };
  struct LearnerProcess {
    std::string name, folder;
    std::unique_ptr<Children> process;
  };
  Status StartShard(ShardProcess* shard);
  Status WatchLearner(const LearnerProcess& learner, const LogCallback& log) const;
  bool HasBegun(const LearnerProcess& learner) const;

  std::vector<ShardProcess> shards_;
  std::vector<LearnerProcess> learners_;
  std::int64_t started_ns_ = 0;
  std::filesystem::file_time_type started_;  ///< the same moment, as files have it
};

}  // namespace murmurate
