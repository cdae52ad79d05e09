// Cluster: what `train` with run.learners or run.shards starts beside itself: the shards of a
// parameter server and further learners, each a copy of this executable with files of its own:
//
//   runs/NAME/            learner 0, this process
//   runs/NAME/learner-1/  ...
//   runs/NAME/shard-0/    ...
//
// A shard that dies is started again and goes on from its checkpoint; a learner that dies is not:
// the others go on without it. Main thread only. Stop leaves nothing running, learners before
// shards, whatever way they end.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "murmurate/log.h"
#include "server/children.h"
#include "server/config.h"

namespace murmurate {

class Cluster {
 public:
  /// Where the shards of this process's cluster will listen.
  static Result<std::vector<std::string>> ShardAddresses(int shards);

  /// `directory`: runs/NAME, with its config.toml. `resume`: from the checkpoints there.
  Status Start(const Config& config, const std::string& directory, bool resume);
  /// After a child has ended: takes note, starts shards again.
  Status Watch(const LogCallback& log);
  void Stop();

 private:
  struct ShardProcess {
    std::vector<std::string> arguments;
    std::unique_ptr<Children> process;
    int starts = 0;
  };
  Status StartShard(ShardProcess* shard);

  std::vector<ShardProcess> shards_;
  Children learners_;
  std::int64_t started_ns_ = 0;
};

}  // namespace murmurate
