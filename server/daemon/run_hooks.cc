#include "server/daemon/run_hooks.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "client/environments/environment.h"
#include "server/daemon/resume_plan.h"
#include "server/daemon/scoring.h"
#include "server/daemon/steps_of_run.h"
#include "server/metrics/number_text.h"
#include "server/operate/checkpoint.h"
#include "server/parameters/parameters_settings.h"
#include "shared/core/clock.h"

namespace murmurate {
namespace {

HookEpisode EpisodeOf(const EpisodeRecord& record) {
  HookEpisode episode{record.raw_return, record.length};
  if (record.success != 0) episode.success = record.success == 2;
  return episode;
}

/// The batch of an update, and the episodes of training that ended in it.
void PostUpdate(Hooks* hooks, const TrainingUpdate& update, const Progress& progress) {
  HookEvent event{.moment = HookMoment::kEpisode,
                  .model = update.model,
                  .at_ns = update.at_ns,
                  .steps = progress.learned_steps(),
                  .environment_steps = progress.steps(),
                  .version = progress.values().Count(kVersion)};
  for (const EpisodeRecord& record : update.episodes) {
    if (record.mode != 0 || !hooks->wants(HookMoment::kEpisode)) continue;
    event.episode = EpisodeOf(record);
    hooks->Post(event);
  }
  if (update.held_out || !hooks->wants(HookMoment::kAfterBatch)) return;
  event.moment = HookMoment::kAfterBatch;
  event.episode = {};
  event.finite = update.finite;
  event.reading = progress.Latest(update.at_ns);
  hooks->Post(std::move(event));
}

bool IsFinite(const Checkpoint& checkpoint) {
  return std::ranges::all_of(checkpoint.weights.parameters,
                             [](float value) { return std::isfinite(value); });
}

/// The newest whose weights are finite; its parameters, and what it is called. Null: there is none.
std::pair<std::shared_ptr<const Snapshot>, std::string> NewestFinite(const std::string& folder) {
  std::vector<std::uint64_t> steps = CheckpointSteps(folder);
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    const auto found = ReadCheckpoint(CheckpointFolder(folder, *step));
    if (!found.ok() || !IsFinite(*found)) continue;
    auto snapshot = std::make_shared<Snapshot>();
    const AlignedFloats& from = found->weights.parameters;
    snapshot->version = found->weights.version;
    snapshot->parameters = AlignedFloats(from.size());
    std::ranges::copy(from, snapshot->parameters.begin());
    return {std::move(snapshot), "the checkpoint of step " + WithCommas(*step)};
  }
  return {nullptr, "the weights that this life of the run began with"};
}

Result<HookReturn> Restore(RunParts* parts, LiveModels* models, const std::string& model,
                           double rate_factor) {
  const auto folder = models->FolderOf(parts->directory.path(), model);
  if (!folder) return InvalidArgument("there is no model " + model);
  auto [snapshot, what] = NewestFinite(*folder);
  const auto version = models->GoBack(model, std::move(snapshot));
  if (!version.ok()) return version.status();
  parts->live->ScaleRate(model, rate_factor);
  return HookReturn{what + " at " + FormatNumber("%g", rate_factor) + " of its learning rate",
                    *version};
}

/// Under the games' settings as they are now.
Result<HookScore> Evaluate(const RunParts& parts, int episodes, const std::function<bool()>& stop) {
  const auto found = ReadNewestCheckpoint(parts.directory.path(), parts.log);
  if (!found.ok()) return found.status();
  EnvironmentOptions game = parts.config.environment_options();
  const auto settings = parts.live->settings();
  game.setting = [&settings](std::string_view name, double usual) {
    const auto at = std::ranges::find(settings, name, [](const auto& one) { return one.first; });
    return at == settings.end() ? usual : at->second;
  };
  Environments environments;
  auto environment = MakeEnvironment(parts.config.run().environment, game);
  if (!environment.ok()) return environment.status();
  environments.push_back(std::move(*environment));
  const WeightsFile& weights = found->checkpoint.weights;
  const auto played = PlayEpisodes(weights, ScoredPlay::kGreedy, environments, episodes, stop);
  if (!played.ok()) return played.status();
  const Evaluation evaluation = EvaluationOf(*played);
  return HookScore{evaluation.mean_return, evaluation.deviation, evaluation.episodes,
                   weights.steps};
}

HookActions ActionsOf(RunParts* parts, LiveModels* models) {
  HookActions actions;
  actions.stop = [parts](const std::string& why) {
    parts->operate->mail().Post([parts, why] { parts->operate->ending().EndByHook(why); });
  };
  actions.checkpoint = [models](const std::string& model) { models->AskForCheckpoint(model); };
  actions.restore = [parts, models](const std::string& model, double rate_factor) {
    return Restore(parts, models, model, rate_factor);
  };
  actions.set = [parts](const std::string& assignment) {
    return parts->live->Set(assignment, "by a hook");
  };
  actions.evaluate = [parts](int episodes, const std::function<bool()>& stop) {
    return Evaluate(*parts, episodes, stop);
  };
  actions.steps_of = StepsOfRun;
  return actions;
}

}  // namespace

void TellOfHooks(RunParts* parts, OperateOptions* options) {
  if (parts->config.entries().hooks.empty()) return;
  options->on_update = [parts](const TrainingUpdate& update, const Progress& progress) {
    if (parts->hooks) PostUpdate(parts->hooks.get(), update, progress);
  };
  options->hooks = [parts] {
    return parts->hooks ? parts->hooks->Reports() : std::vector<Reading>();
  };
}

Status StartHooks(RunParts* parts, LiveModels* models) {
  if (parts->config.run().follows()) return {};
  std::error_code error;
  HookTools tools{.folder = std::filesystem::absolute(parts->directory.path(), error).string(),
                  .worker = parts->config.parameters().worker,
                  .log = parts->log,
                  .actions = ActionsOf(parts, models)};
  auto hooks = Hooks::Start(parts->config.entries(), std::move(tools));
  if (hooks.ok()) parts->hooks = *std::move(hooks);
  return hooks.status();
}

void EndHooks(const RunParts& parts, const std::string& reason) {
  HookEvent end{.moment = HookMoment::kEnd, .at_ns = MonotonicNs(), .text = reason};
  const Progress& progress = parts.operate->last_progress();
  end.steps = progress.learned_steps();
  end.environment_steps = progress.steps();
  end.version = progress.values().Count(kVersion);
  end.reading = progress.Latest(end.at_ns);
  parts.hooks->Finish(std::move(end));
}

}  // namespace murmurate
