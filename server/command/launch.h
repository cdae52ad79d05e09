// Commands start a learner here, alone or as a part of a cluster or a job.
#pragma once

#include <functional>
#include <memory>

#include "server/command/command_line.h"
#include "server/config/config.h"
#include "server/parameters/collective_job.h"

namespace murmurate {

class Daemon;
class DataSource;
struct DaemonOptions;
/// Reads the config of a learner that runs once more, with all that was said beside the file.
using ReadConfig = std::function<Result<Config>()>;
/// Starts a learner for external actors. Of `options` only the beginning must be set: the plan, the
/// initial files, what to do with a name that is taken. SIGHUP reloads what `read_again` gives.
Result<int> ServeOn(const CommonArguments& common, const Config& config, DaemonOptions options,
                    const ReadConfig& read_again);
/// Says in one line of stdout where the live page is, if there is one.
void PrintPage(const CommonArguments& common, Daemon* daemon);
/// Opens what [data] names, null when it names nothing; makes the data of an example where it is
/// missing, and says so in one line of stdout.
Result<std::shared_ptr<DataSource>> OpenDataOf(const CommonArguments& common, const Config& config);
/// Called before TrainOnData or TrainOn: makes `config` that of the first of several learners.
Status PrepareCluster(Config* config);
/// Called before them, with parameters.collective: opens the engine and makes `config` that of this
/// rank. Ranks other than 0 wait here for the folder of rank 0, in which theirs lies: its daemon
/// tells them. run.dir is "" where rank 0 has nothing left to do. Null: no collective is asked for.
Result<std::shared_ptr<CollectiveJob>> JoinJob(Config* config);
/// Called after them: waits for the other ranks, unless this one failed; then mpirun ends them.
/// `job` may be null.
Result<int> LeaveJob(CollectiveJob* job, Result<int> code);
/// A learner of `options.source`, with no actor: ends when it has been through it, or at run.steps.
Result<int> TrainOnData(const CommonArguments& common, const Config& config, DaemonOptions options);
/// A learner and its own actors, and the rest of its cluster.
Result<int> TrainOn(const CommonArguments& common, const Config& config, DaemonOptions options);

}  // namespace murmurate
