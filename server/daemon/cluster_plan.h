// ClusterPlan: the parts that `murmurate cluster` starts, each a process of its own with a folder
// of its own in that of the cluster, and the command line of each. Nothing is started here.
//
//   runs/NAME/cluster.toml     the config of all parts, resolved
//   runs/NAME/shard-0/         a run folder, as `murmurate params` makes it
//   runs/NAME/learner-0/       a run folder, as `murmurate train` or `serve` makes it
//   runs/NAME/learner-0.txt    what that process has printed
#pragma once

#include <string>
#include <vector>

#include "murmurate/status.h"
#include "server/config/config.h"

namespace murmurate {

struct ClusterPart {
  bool shard = false;
  int number = 0;
  std::string name;    ///< "shard-0", "learner-1"
  std::string host;    ///< as [cluster] names it; "": this one
  bool here = true;    ///< whether that is this host
  std::string folder;  ///< runs/NAME/learner-1
  std::string output() const { return folder + ".txt"; }
  /// How it is started the first time, without the program's name.
  std::vector<std::string> arguments;
};

struct ClusterPlan {
  std::string folder;              ///< runs/NAME
  std::string text;                ///< of cluster.toml
  std::vector<ClusterPart> parts;  ///< shards, then learners

  std::string config_path() const { return folder + "/cluster.toml"; }
};

/// The plan of a config whose run.learners or run.shards is more than its default. `host`: the name
/// or address in [cluster] that is this host; "": those that this host goes by. kInvalidArgument:
/// the config makes no cluster, or not with these hosts.
Result<ClusterPlan> PlanCluster(const Config& config, const std::string& host);

/// Where a learner that goes on is started from: `resume` of its folder.
std::vector<std::string> ArgumentsToGoOn(const ClusterPart& part);

}  // namespace murmurate
