// What the three commands of `murmurate cluster` share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "server/command/command_line.h"
#include "server/daemon/cluster_parts.h"
#include "server/daemon/cluster_plan.h"

namespace murmurate {

struct ClusterArguments {
  std::string
      what;  ///< of start, a config; else a cluster's folder or name, or "" for the only one
  std::string host;  ///< that of [cluster] which this host is; "": by its own names
  bool fresh = false;
};

/// How long a part has to answer one question.
inline constexpr int kPartAnswerMs = 2000;

/// Sentences call a cluster by its folder and, in commands, by this name.
std::string NameInCommands(const ClusterPlan& plan);

/// The plan of a cluster whose folder is there: found by its folder, its name, or the config that
/// it was started from.
Result<ClusterPlan> FindCluster(const CommonArguments& common, const ClusterArguments& arguments);
/// The plan of the cluster in this folder, with its cluster.toml.
Result<ClusterPlan> PlanIn(const std::string& folder, const std::string& host);

/// Ends these parts, of which some may not run, and waits for them; SIGKILL after `patience_s`.
/// `say` is told of each.
void EndParts(const std::vector<ClusterPart>& parts, double patience_s,
              const std::function<void(const std::string&)>& say);

Result<int> RunClusterStart(const CommonArguments& common, const ClusterArguments& arguments);

}  // namespace murmurate
