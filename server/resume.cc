#include <filesystem>
#include <iostream>

#include "server/commands.h"
#include "server/daemon.h"
#include "server/resume_plan.h"
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

/// Of the run in `folder`, or of this rank's in there.
Result<int> Resume(const CommonArguments& common, const std::string& folder, const Config& config,
                   const std::shared_ptr<CollectiveJob>& job) {
  const bool follows = config.run().follows();
  if (follows && config.run().dir.empty()) return 0;
  auto plan = ReadResumePlan(follows ? config.run().dir + '/' + config.run().name : folder, config,
                             LoudOnStderr());
  if (!plan.ok()) return plan.status();
  if (const auto over = AlreadyOver(*plan, config); over && !follows) {
    std::cout << folder << ": " << over->sentence << '\n';
    if (job) MURMURATE_RETURN_IF_ERROR(BroadcastText(job->collective(), "").status());
    return over->code;
  }
  auto data = OpenData(config.data());
  if (!data.ok()) return data.status();
  DaemonOptions options;
  options.job = job;
  options.source = *std::move(data);
  const bool trained = plan->record.own_actors;
  options.plan = std::move(*plan);
  if (trained && options.source) return TrainOnData(common, config, std::move(options));
  return trained ? TrainOn(common, config, std::move(options))
                 : ServeOn(common, config, std::move(options));
}

}  // namespace

Result<int> RunResume(const CommonArguments& common, const std::string& run) {
  auto folder = FindRun(common, run);
  if (!folder.ok()) return folder.status();
  auto config = ConfigOf(*folder, common);
  if (!config.ok()) return config.status();
  MURMURATE_RETURN_IF_ERROR(PrepareCluster(&*config));
  auto job = JoinJob(&*config);
  if (!job.ok()) return job.status();
  return LeaveJob(job->get(), Resume(common, *folder, *config, *job));
}

}  // namespace murmurate
