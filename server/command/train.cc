#include <signal.h>

#include <cstdio>
#include <thread>

#include "client/environments/environment.h"
#include "server/command/command_line.h"
#include "server/command/launch.h"
#include "server/config/batch_fit.h"
#include "server/config/model_settings.h"
#include "server/daemon/children.h"
#include "server/daemon/cluster.h"
#include "server/daemon/daemon.h"
#include "server/daemon/learners_advice.h"
#include "server/data/training_data.h"
#include "server/metrics/number_text.h"
#include "server/parameters/parameters_settings.h"
#include "server/stream/config_stream.h"
#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "shared/core/random.h"

namespace murmurate {
namespace {

constexpr std::int64_t kReminderNs = 30 * kNanosecondsPerMillisecond;

Status CheckEnvironment(const Config& config, const ConfigSource& source,
                        const InitialFiles& initial_files) {
  if (!config.streams().empty())
    return InvalidArgument(config.streams().front().origin +
                           ": messages come when they come, and train starts players of a game; "
                           "use `murmurate serve " +
                           source.label + "`");
  const std::string& name = config.run().environment;
  if (name.empty())
    return InvalidArgument(
        source.label +
        ": run.environment is not set, and train must know what its actors play; write "
        "environment = \"cartpole\" in [run], or use `murmurate serve` with your own game");
  auto environment = MakeEnvironment(name, config.environment_options());
  if (!environment.ok()) return environment.status();
  const auto model = ModelFor(config, "default", (*environment)->spaces());
  if (!model.ok()) return model.status();
  MURMURATE_RETURN_IF_ERROR(CheckStoresFit("default", *model));
  if (model->initial_file.path.empty()) return {};
  return MatchInitialFile(model->initial_file, initial_files, model->spec).status();
}

Status StartActors(const Config& config, Children* children) {
  auto folder = RuntimeFolder();
  if (!folder.ok()) return folder.status();
  for (int i = 0; i < config.run().actors; ++i) {
    std::vector<std::string> arguments{"murmurate",
                                       "actor",
                                       config.run().environment,
                                       "--connect",
                                       "ipc://" + *folder + "main",
                                       "--agents",
                                       std::to_string(config.run().agents),
                                       "--pace",
                                       "credit",
                                       "--name",
                                       "actor-" + std::to_string(i),
                                       "--quiet"};
    for (const EnvironmentOption& option : AllEnvironmentOptions()) {
      if (!option.IsOf(config.run().environment)) continue;
      arguments.push_back(std::string("--") + option.name);
      arguments.push_back(NumberText(config.environment_options().*option.value));
    }
    if (Status status = children->Start(arguments); !status.ok()) return status;
  }
  return {};
}

/// Waits for the end of the run; kAsked for a signal.
RunEnd Await(Signals* signals, Children* children, Cluster* cluster, const LogCallback& log) {
  while (true) {
    const Signals::Event event = signals->Wait(-1);
    if (event == Signals::Event::kSignal) return RunEnd::kAsked;
    if (const auto end = signals->requested()) return *end;
    if (Status status = cluster->Watch(log); !status.ok()) signals->RequestFailure(status);
    for (const std::string& sentence : children->CollectEnded())
      log(LogLevel::kWarning, sentence + "; " + std::to_string(children->alive()) + " are left");
    if (children->alive() > 0) continue;
    signals->RequestFailure(ResourceError(
        "no actor process is left, so nothing more can be learned; run `murmurate actor ENV "
        "--connect ADDRESS` by hand to see why"));
  }
}

/// "; learner waited 12 %, actors 3 %"
std::string Waits(const Daemon::Outcome& outcome) {
  return "; learner waited " + PercentText(outcome.learner_wait) +
         (outcome.actor_wait ? ", actors " + PercentText(*outcome.actor_wait) : "");
}

/// An evaluation reached stop_at_return, and what was played for training did not.
bool SolvedByEvaluation(RunEnd end, const Daemon::Outcome& outcome, const RunSettings& run) {
  return end == RunEnd::kSolved && run.stop_at_return && outcome.mean_return < run.stop_at_return;
}

std::string Sentence(RunEnd end, const Daemon::Outcome& outcome, const RunSettings& run) {
  const std::string what =
      StepsInWords(outcome.steps) + " in " +
      (outcome.mean_return ? FormatNumber("%.2f s, mean return ", outcome.seconds) +
                                 ReturnText(*outcome.mean_return) + " over the last 100 episodes"
                           : ShortDuration(outcome.seconds)) +
      Waits(outcome);
  if (SolvedByEvaluation(end, outcome, run))
    return "Solved: " + what + ". An evaluation reached stop_at_return; checkpoints/best has it.";
  if (end == RunEnd::kSolved) return "Solved: " + what + '.';
  if (end == RunEnd::kAsked || end == RunEnd::kAskedToResume) return "Stopped: " + what + '.';
  if (end == RunEnd::kHook) return "Ended by a hook: " + what + '.';
  if (end == RunEnd::kStepsReached) return "Done: " + what + '.';
  return "Not solved: " + what + " (stop_at_return is " + FormatNumber("%g", *run.stop_at_return) +
         "); raise run.steps or change the [algorithm] and try again.";
}

std::string EvaluationSentence(const Evaluation& evaluation) {
  return "Evaluation: mean return " + ReturnText(evaluation.mean_return) + " over " +
         WithCommas(evaluation.episodes) +
         " episodes without exploration, with the weights of step " +
         WithCommas(evaluation.learned_steps) + '.';
}

void AdviseOnLearners(const Config& config, const LogCallback& log) {
  const int learners = config.run().learners;
  const auto processors = static_cast<int>(std::thread::hardware_concurrency());
  const std::string on_processors = AdviceOnProcessors(learners, processors);
  if (!on_processors.empty()) log(LogLevel::kWarning, on_processors);
  const std::string on_batches = AdviceOnBatches(config.parameters().rule, learners);
  if (!on_batches.empty()) log(LogLevel::kInfo, on_batches);
}

/// Starts the other parts of a cluster that has shards; says which rank of a job this is.
Status StartOthers(Cluster* cluster, const Config& config, const Daemon& daemon,
                   const CollectiveJob* job, bool resumes) {
  if (job != nullptr)
    daemon.log()(
        LogLevel::kInfo,
        "rank " + std::to_string(job->rank()) + " of " + std::to_string(job->size()) +
            ", collective = \"" + config.parameters().collective + '"' +
            (job->size() == 1 ? ": learns alone; `mpirun -n 4 murmurate train` makes more" : ""));
  if (config.run().shards == 0) return {};
  AdviseOnLearners(config, daemon.log());
  return cluster->Start(config, daemon.directory(), resumes);
}

/// Called after the daemon's Stop. Its own learner leaves last: no barrier goes on without it.
void StopOthers(Cluster* cluster, Daemon* daemon) {
  cluster->StopLearners();
  daemon->LeaveShards();
  cluster->Stop();
}

/// Sets the options that every training has, new or resumed, from play or from files.
void Complete(const CommonArguments& common, DaemonOptions* options) {
  options->display = common.quiet ? Display::Mode::kQuiet : Display::Suitable(stdout);
  options->console = LogLevel::kWarning;
  if (options->job && options->job->size() > 1) {  // mpirun passes on lines, whatever it looks like
    const bool first = options->job->rank() == 0;
    options->display = first && !common.quiet ? Display::Mode::kLines : Display::Mode::kQuiet;
    if (!first) options->console = LogLevel::kError;
  }
  options->command = common.command;
  options->start_ns = common.start_ns;
}

/// Finds faults of the data that would else be found only when the run has its folder.
Status CheckData(const Config& config, DataSource& data) {
  if (const std::string& name = config.run().environment; !name.empty()) {
    auto environment = MakeEnvironment(name, config.environment_options());
    if (!environment.ok()) return environment.status();
    const std::string difference = FirstDifference((*environment)->spaces(), data.spaces());
    if (!difference.empty())
      return InvalidData("run.environment: " + name + " has other spaces than " +
                         data.Description() + " (" + difference + "); take the line out");
  }
  const auto model = ModelFor(config, "default", data.spaces());
  if (!model.ok()) return model.status();
  return data.PrepareFor(model->spec, model->algorithm.trajectory_length);
}

struct TrainArguments {
  std::string config;
  int worker = kNoWorker;
  bool list = false;  ///< only name the examples
};

Result<int> RunTrain(const CommonArguments& common, const TrainArguments& arguments) {
  if (arguments.list) {
    PrintExamples();
    return 0;
  }
  if (arguments.config.empty())
    return InvalidArgument(
        "CONFIG is required: a TOML file or an example; `murmurate train --list` names them");
  auto source = FindConfig(arguments.config);
  if (!source.ok()) return source.status();
  auto config = Config::Load(*source, common.overrides);
  if (!config.ok()) return config.status();
  config->ListenPrivately();
  if (arguments.worker != kNoWorker)
    MURMURATE_RETURN_IF_ERROR(config->JoinCluster(arguments.worker));
  MURMURATE_RETURN_IF_ERROR(PrepareCluster(&*config));
  auto job = JoinJob(&*config);
  if (!job.ok()) return job.status();
  auto initial_files = ReadInitialFiles(InitialFilesOf(*config));
  if (!initial_files.ok()) return initial_files.status();
  auto data = OpenDataOf(common, *config);
  if (!data.ok()) return data.status();
  DaemonOptions options;
  options.source = *std::move(data);
  if (!options.source)
    MURMURATE_RETURN_IF_ERROR(CheckEnvironment(*config, *source, *initial_files));
  options.initial_files = *std::move(initial_files);
  options.job = *job;
  options.when_taken = RunDirectory::WhenTaken::kNextName;
  return LeaveJob(job->get(), options.source ? TrainOnData(common, *config, std::move(options))
                                             : TrainOn(common, *config, std::move(options)));
}

/// The beginning of the sentence about a training on data; `requested`: its end, if it was asked for.
std::string HowDataEnded(Signals::Event event, std::optional<RunEnd> requested) {
  if (requested == RunEnd::kHook) return "Ended by a hook: ";
  return event == Signals::Event::kSignal ? "Stopped: " : "Done: ";
}

}  // namespace

Status PrepareCluster(Config* config) {
  if (config->run().shards == 0) return {};
  auto addresses = Cluster::ShardAddresses(config->run().shards);
  if (!addresses.ok()) return addresses.status();
  return config->LeadCluster(*addresses);
}

Result<int> TrainOnData(const CommonArguments& common, const Config& config,
                        DaemonOptions options) {
  const std::shared_ptr<DataSource> data = options.source;
  MURMURATE_RETURN_IF_ERROR(CheckData(config, *data));
  Signals signals(Signals::Hangup::kIgnored);
  Complete(common, &options);
  options.own_actors = true;
  const bool resumes = options.plan.has_value();
  Cluster cluster;
  const std::shared_ptr<CollectiveJob> job = options.job;
  auto daemon = Daemon::Start(config, std::move(options), &signals);
  if (!daemon.ok()) return daemon.status();
  PrintPage(common, daemon->get());
  MURMURATE_RETURN_IF_ERROR(StartOthers(&cluster, config, **daemon, job.get(), resumes));
  Signals::Event event = Signals::Event::kTimeout;
  while (event != Signals::Event::kSignal && !signals.requested()) {
    event = signals.Wait(-1);
    if (Status status = cluster.Watch((*daemon)->log()); !status.ok())
      signals.RequestFailure(status);
  }
  const Daemon::Outcome outcome = (*daemon)->Stop("training is over", [] { return true; });
  StopOthers(&cluster, daemon->get());
  if (!signals.failure().ok()) return signals.failure();
  if (!outcome.unreached.ok()) return outcome.unreached;
  if (config.run().follows()) return 0;
  (*daemon)->Print(HowDataEnded(event, signals.requested()) + WithCommas(outcome.steps.learned) +
                   " steps learned from " + data->Description() + " in " +
                   ShortDuration(outcome.seconds) +
                   (outcome.scores.empty() ? "." : "; " + outcome.scores + '.'));
  if (outcome.evaluation) (*daemon)->Print(EvaluationSentence(*outcome.evaluation));
  if (const std::string returns = data->Returns(); !returns.empty())
    (*daemon)->Print("For comparison: the " + returns + '.');
  (*daemon)->Print("Run directory: " + (*daemon)->directory());
  if (!config.run().environment.empty())
    (*daemon)->Print("Next: murmurate eval " + (*daemon)->directory());
  return 0;
}

Result<int> TrainOn(const CommonArguments& common, const Config& config, DaemonOptions options) {
  Signals signals(Signals::Hangup::kIgnored);
  Cluster cluster;
  const bool resumes = options.plan.has_value();
  Children children;  // first of all: they start up while the learner does
  if (Status status = StartActors(config, &children); !status.ok()) return status;
  Complete(common, &options);
  options.own_actors = true;
  const std::shared_ptr<CollectiveJob> job = options.job;
  auto daemon = Daemon::Start(config, std::move(options), &signals);
  if (!daemon.ok()) return daemon.status();
  PrintPage(common, daemon->get());
  MURMURATE_RETURN_IF_ERROR(StartOthers(&cluster, config, **daemon, job.get(), resumes));
  RunEnd end = Await(&signals, &children, &cluster, (*daemon)->log());
  const std::int64_t reminder_ns = MonotonicNs() + kReminderNs;
  bool reminded = false;
  const auto gone = [&] {
    (void)children.CollectEnded();
    if (!reminded && MonotonicNs() > reminder_ns) {
      children.Send(SIGTERM);  // for those that had not yet found the learner
      reminded = true;
    }
    return children.alive() == 0;
  };
  const Daemon::Outcome outcome = (*daemon)->Stop("training is over", gone);
  StopOthers(&cluster, daemon->get());
  if (!signals.failure().ok()) return signals.failure();
  if (!outcome.unreached.ok()) return outcome.unreached;
  if (config.run().follows()) return 0;
  end = outcome.End(end);
  (*daemon)->Print(Sentence(end, outcome, config.run()));
  if (outcome.evaluation) (*daemon)->Print(EvaluationSentence(*outcome.evaluation));
  (*daemon)->Print("Run directory: " + (*daemon)->directory());
  if (!outcome.checkpoint.empty())
    (*daemon)->Print("Next: murmurate eval " + (*daemon)->directory() +
                     (SolvedByEvaluation(end, outcome, config.run()) ? "/checkpoints/best" : ""));
  return end == RunEnd::kBudgetSpent ? 1 : 0;
}

void AddTrain(CLI::App* app, CommandLine* line) {
  auto given = std::make_shared<TrainArguments>();
  auto* train = app->add_subcommand("train", "A learner and local actors, until solved");
  train->add_option("CONFIG", given->config, kConfigHelp);
  train->add_flag("--list", given->list, "Name the examples");
  AddWorker(train, &given->worker);
  AddShortcut(train, line, "--actors", "run.actors", "Actor processes");
  AddShortcut(train, line, "--agents", "run.agents", "Agents in each");
  AddShortcut(train, line, "--seed", "run.seed", "Seed");
  AddShortcut(train, line, "--steps", "run.steps", "Budget in steps that are learned from");
  AddShortcut(train, line, "--learners", "run.learners", "Learners that share one model");
  AddShortcut(train, line, "--shards", "run.shards", "Processes of their parameter server");
  line->Choose(train, RunTrain, given);
}

}  // namespace murmurate
