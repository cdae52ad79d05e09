#include <filesystem>
#include <iostream>

#include "server/command/command_line.h"
#include "server/command/launch.h"
#include "server/config/model_settings.h"
#include "server/daemon/daemon.h"
#include "server/daemon/resume_plan.h"
#include "server/data/training_data.h"
#include "server/parameters/parameters_settings.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;

/// The run's own config, kept where it lies: a run that was moved or copied goes on in its place.
Result<Config> ConfigOf(const std::string& folder, const CommonArguments& common) {
  const fs::path place = fs::path(folder).lexically_normal();
  const fs::path named = place.has_filename() ? place : place.parent_path();
  auto source = FindConfig(folder + "/config.toml");
  if (!source.ok())
    return InvalidData(folder + ": holds no run (" + source.status().message() + ")");
  std::vector<ConfigOverride> overrides = common.overrides;
  const fs::path parent = named.has_parent_path() ? named.parent_path() : ".";
  overrides.push_back({"run.dir", '"' + parent.string() + '"', "RUN"});
  overrides.push_back({"run.name", '"' + named.filename().string() + '"', "RUN"});
  return Config::Load(*source, overrides);
}

/// Refuses parameters.collective for a run that games of others play, or with several models.
Status CheckCollective(const std::string& folder, const Config& config) {
  if (config.parameters().collective.empty()) return {};
  const auto record = RunRecord::Read(folder);
  if (!record.ok()) return record.status();
  if (!record->own_actors)
    return InvalidArgument(folder +
                           ": was started by `murmurate serve`, and a rank that waits for games of "
                           "others would hold all ranks up; go on without parameters.collective");
  if (record->models.size() > 1)
    return InvalidArgument(folder + ": learns " + std::to_string(record->models.size()) +
                           " models, and the ranks of a collective learn one; go on without "
                           "parameters.collective");
  return {};
}

/// The plan of a rank that follows; null where it has nothing to go on from: it gets rank 0's model
/// and optimizer in any case.
std::optional<ResumePlan> PlanOfFollower(const Config& config) {
  auto plan = ReadResumePlan(config.run().dir + '/' + config.run().name, config, LoudOnStderr());
  if (plan.ok()) return std::move(*plan);
  LoudOnStderr()(LogLevel::kWarning,
                 "rank " + std::to_string(config.run().rank) +
                     " takes rank 0's model, but begins anew in what it learns from (" +
                     plan.status().message() + ")");
  return std::nullopt;
}

/// Rank 1 and up of a job.
Result<int> Follow(const CommonArguments& common, const Config& config, DaemonOptions options) {
  if (config.run().dir.empty()) return 0;
  options.plan = PlanOfFollower(config);
  if (!options.plan) {
    auto initial_files = ReadInitialFiles(InitialFilesOf(config));
    if (!initial_files.ok()) return initial_files.status();
    options.initial_files = *std::move(initial_files);
    options.when_taken = RunDirectory::WhenTaken::kFresh;
  }
  auto data = OpenDataOf(common, config);
  if (!data.ok()) return data.status();
  options.source = *std::move(data);
  return options.source ? TrainOnData(common, config, std::move(options))
                        : TrainOn(common, config, std::move(options));
}

/// The run in `folder`.
Result<int> Resume(const CommonArguments& common, const std::string& folder, const Config& config,
                   DaemonOptions options) {
  auto plan = ReadResumePlan(folder, config, LoudOnStderr());
  if (!plan.ok()) return plan.status();
  if (const auto over = AlreadyOver(*plan, config)) {
    std::cout << folder << ": " << over->sentence << '\n';
    if (options.job)
      MURMURATE_RETURN_IF_ERROR(BroadcastText(options.job->collective(), "").status());
    return over->code;
  }
  auto data = OpenDataOf(common, config);
  if (!data.ok()) return data.status();
  options.source = *std::move(data);
  const bool trained = plan->record.own_actors;
  options.plan = std::move(*plan);
  if (trained && options.source) return TrainOnData(common, config, std::move(options));
  return trained ? TrainOn(common, config, std::move(options))
                 : ServeOn(common, config, std::move(options),
                           [&] { return ConfigOf(folder, common); });
}

Result<int> RunResume(const CommonArguments& common, const std::string& run) {
  auto folder = FindRun(common, run);
  if (!folder.ok()) return folder.status();
  auto config = ConfigOf(*folder, common);
  if (!config.ok()) return config.status();
  MURMURATE_RETURN_IF_ERROR(CheckCollective(*folder, *config));
  MURMURATE_RETURN_IF_ERROR(PrepareCluster(&*config));
  auto job = JoinJob(&*config);
  if (!job.ok()) return job.status();
  DaemonOptions options;
  options.job = *job;
  return LeaveJob(job->get(), config->run().follows()
                                  ? Follow(common, *config, std::move(options))
                                  : Resume(common, *folder, *config, std::move(options)));
}

}  // namespace

void AddResume(CLI::App* app, CommandLine* line) {
  auto given = std::make_shared<std::string>();
  auto* resume = app->add_subcommand(
      "resume", "Go on with a run from its newest good checkpoint, where it was");
  resume->add_option("RUN", *given, "A run directory, or a name under run.dir")->required();
  AddShortcut(resume, line, "--steps", "run.steps", "Budget in steps that are learned from");
  line->Choose(resume, RunResume, given);
}

}  // namespace murmurate
