// The subcommands of `murmurate`, as cli.cc has parsed them. Each gives the exit code (0, or 1 when
// a budget is spent without reaching the target), or the Status whose code it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/environments/environment.h"
#include "murmurate/pace.h"
#include "murmurate/status.h"
#include "server/config/config.h"
#include "server/parameters/collective_job.h"

namespace murmurate {

/// Said once, before or after the subcommand.
struct CommonArguments {
  std::vector<ConfigOverride> overrides;  ///< --set and the shortcuts, in order
  bool quiet = false;
  std::string command;        ///< the command line, for command.txt
  std::int64_t start_ns = 0;  ///< of the process
};

/// serve [CONFIG] and train EXAMPLE|CONFIG.
struct LearnArguments {
  std::string config;  ///< "" for a bare serve
  bool fresh = false;
  bool resume = false;  ///< serve: go on if that is possible, else start
};
Result<int> RunServe(const CommonArguments& common, const LearnArguments& arguments);
Result<int> RunTrain(const CommonArguments& common, const LearnArguments& arguments);

/// params CONFIG --shard I.
struct ParamsArguments {
  std::string config;
  int shard = 0;
  std::string folder;  ///< "": run.dir/run.name-shard-I
  bool fresh = false;
  bool stay = false;  ///< when its last worker has left
};
Result<int> RunParams(const CommonArguments& common, const ParamsArguments& arguments);

/// Of a run that was started before; which of the two says its own record.
Result<int> RunResume(const CommonArguments& common, const std::string& run);
struct DaemonOptions;
/// A learner for whoever attaches. Of `options` only what is to begin with must be set: the plan,
/// the initial files, what to do with a name that is taken.
Result<int> ServeOn(const CommonArguments& common, const Config& config, DaemonOptions options);
/// Before these two: makes `config` that of the first of run.learners, if there are several.
Status PrepareCluster(Config* config);
/// Before these two, with parameters.collective: opens the engine and makes `config` that of this
/// rank. Ranks other than 0 wait here for the folder of rank 0, in which theirs lies: its daemon
/// says it. run.dir is "" where rank 0 has nothing left to do. Null: no collective is asked for.
Result<std::shared_ptr<CollectiveJob>> JoinJob(Config* config);
/// After them: waits for the other ranks, unless this one failed; then mpirun ends them. `job` may
/// be null.
Result<int> LeaveJob(CollectiveJob* job, Result<int> code);
/// A learner of `options.source`, with no actor: ends when it has been through it, or at run.steps.
Result<int> TrainOnData(const CommonArguments& common, const Config& config, DaemonOptions options);
/// A learner and its own actors, and the rest of its cluster.
Result<int> TrainOn(const CommonArguments& common, const Config& config, DaemonOptions options);

struct ActorArguments {
  std::string environment, connect = "tcp://127.0.0.1:7420", name = "actor", model = "default";
  int agents = 1;
  Pace pace = Pace::kCredit;
  std::optional<std::uint64_t> steps, seed;
  double patience_s = 60;  ///< for a learner that is gone; 0: for ever
  EnvironmentOptions options;
};
Result<int> RunActor(const CommonArguments& common, const ActorArguments& arguments);

/// actor sensors: a made-up fleet (stream/fleet.h) that publishes to a broker, or sends its samples
/// to a stream that listens.
struct FleetArguments {
  std::string connect;  ///< tcp:// or ipc://; "": the broker
  std::string broker = "mqtt://localhost:1883", topic = "sensors/{device}/data";
  std::string committed, status;  ///< where the learner says what is safe, and that it is there
  int devices = 10;
  double rate = 1, seconds = 30, noise = 0.2;
  std::optional<double> drift_at_s;
  std::uint64_t seed = 1;
  bool insecure = false;
};
Result<int> RunFleet(const CommonArguments& common, const FleetArguments& arguments);

struct EvalArguments {
  std::string place;  ///< a run or a checkpoint
  bool best = false;
  int episodes = 100;
};
Result<int> RunEval(const CommonArguments& common, const EvalArguments& arguments);

struct CheckpointArguments {
  std::string place;  ///< a run or a checkpoint
  bool best = false;
};
Result<int> RunInspect(const CommonArguments& common, const CheckpointArguments& arguments);

struct ExportArguments {
  std::string place;  ///< a run or a checkpoint
  bool best = false;
  std::string output;  ///< "": RUN/export/NAME.policy
};
Result<int> RunExport(const CommonArguments& common, const ExportArguments& arguments);

/// plot RUN [RUN...].
inline constexpr char kRolloutColumn[] = "rollout/ep_rew_mean";
struct PlotArguments {
  std::vector<std::string> runs;
  std::string output, title, column = kRolloutColumn;
  std::optional<double> target;  ///< instead of the runs' stop_at_return
};
Result<int> RunPlot(const CommonArguments& common, const PlotArguments& arguments);

struct AskArguments {
  std::string run;  ///< "": the only live one
  bool json = false;
  bool resume_follows = false;  ///< stop: lock-step actors wait for `murmurate resume`
};
Result<int> RunStatus(const CommonArguments& common, const AskArguments& arguments);
Result<int> RunStop(const CommonArguments& common, const AskArguments& arguments);

struct SetArguments {
  std::string run;
  std::vector<std::string> assignments;  ///< NAME=VALUE
};
Result<int> RunSet(const CommonArguments& common, const SetArguments& arguments);

Result<int> RunCheck(const CommonArguments& common, const std::string& config);

/// The folder of RUN: a path, or a name under run.dir ("runs", or as --set run.dir says).
Result<std::string> FindRun(const CommonArguments& common, const std::string& run);

}  // namespace murmurate
