// The models of a Daemon: made for their first actor or resumed, learning, their checkpoints.
#include <algorithm>
#include <system_error>
#include <thread>
#include <utility>

#include "server/config/batch_fit.h"
#include "server/daemon/actor_source.h"
#include "server/daemon/daemon_state.h"
#include "server/ingest/offered_model.h"
#include "server/parameters/collective_store.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

SavedState StateOf(const Learner& learner) {
  SavedState state;
  learner.Save(&state);
  return state;
}

}  // namespace

std::atomic<bool> Daemon::State::thread_left{false};

Result<OfferedModel> Daemon::State::Offer(const std::string& name, const Spaces& spaces) {
  if (config.StreamOf(name) != nullptr)
    return InvalidArgument("model " + name +
                           " is that of the stream of its name and learns from its "
                           "messages alone; choose another name");
  if (!options.source) return MakeModel(name, spaces);
  return InvalidArgument("this learner learns from " + options.source->Description() +
                         " and takes no experience; connect to a learner without [data]");
}

Status Daemon::State::AddSource(LiveModel* model, const ModelSettings& settings,
                                const SavedState* resumed) {
  if (const StreamSettings* stream = config.StreamOf(model->name))
    return AddStream(model, *stream, resumed);
  if (options.source) {
    MURMURATE_RETURN_IF_ERROR(
        options.source->PrepareFor(settings.spec, settings.algorithm.trajectory_length));
    for (const std::string& note : options.source->Notes()) log(LogLevel::kInfo, note);
    auto feeding = std::make_unique<Feeding>(model->channel, options.source, config.data(),
                                             config.run(), [this](Status status) {
                                               if (status.ok())
                                                 return signals->Request(RunEnd::kStepsReached);
                                               signals->RequestFailure(std::move(status));
                                             });
    if (resumed) MURMURATE_RETURN_IF_ERROR(feeding->Load(*resumed));
    model->source = std::move(feeding);
    return {};
  }
  model->source = std::make_unique<ActorSource>(ingest.get(), model->name);
  if (config.recording().folder.empty()) return {};
  auto recording = Recording::Start(config.recording(), model->name,
                                    static_cast<int>(models.size()), *model->channel, log);
  if (recording.ok()) model->recording = std::move(*recording);
  if (!recording.ok()) signals->RequestFailure(recording.status());
  return recording.status();
}

/// Before anything is made: what actors send must fit a message, and what it fills the memory.
Status Daemon::State::FitToActors(const std::string& name, ModelSettings* settings) const {
  if (options.source || config.StreamOf(name) != nullptr) return {};
  const auto fitted = FitBatches(name, MostTrajectoryBytes(), settings);
  if (fitted.ok() && !fitted->empty()) log(LogLevel::kWarning, *fitted);
  return fitted.status();
}

Result<OfferedModel> Daemon::State::MakeModel(const std::string& name, const Spaces& spaces) try {
  if (options.job && !models.empty())
    return InvalidArgument("model " + name + ": the ranks of a collective learn one model, here " +
                           models.front()->name + "; start this one without the collective");
  Result<ModelSettings> made = config.ModelFor(name, spaces);
  if (!made.ok()) return InvalidArgument("model " + name + ": " + made.status().message());
  ModelSettings& settings = *made;
  MURMURATE_RETURN_IF_ERROR(FitToActors(name, &settings));
  auto learner = MakeLearner(name, settings);
  if (!learner.ok()) return learner.status();
  auto offered = TakeModel(name, settings, std::move(*learner), {});
  if (!offered.ok()) return offered;
  if (Status status = WriteRecord(); !status.ok()) log(LogLevel::kError, status.message());
  log(LogLevel::kInfo, "model " + name + ": made for " +
                           (config.StreamOf(name) != nullptr ? "the stream of its name"
                            : options.source ? "the spaces of " + options.source->Description()
                                             : "the spaces of its first actor"));
  return offered;
} catch (const std::bad_alloc&) {
  return ResourceError("model " + name +
                       ": no memory for its batches; lower algorithm.batch_steps or model.layers");
} catch (const std::system_error& error) {
  const Status status =
      ResourceError("model " + name + ": a thread of its own could not be started (" +
                    error.code().message() + "); lower model.threads");
  log(LogLevel::kError, status.message());
  return status;
}

Result<OfferedModel> Daemon::State::TakeModel(const std::string& name,
                                              const ModelSettings& settings,
                                              std::unique_ptr<Learner> learner, StepCount steps,
                                              const SavedState* resumed) {
  const int length = settings.algorithm.trajectory_length;
  auto model = std::make_unique<LiveModel>(config.checkpoint());
  model->name = name;
  model->steps = steps;
  const int threads = settings.hogwild ? settings.hogwild->threads : 1;
  model->channel = std::make_shared<ExperienceChannel>(
      settings.spec, length, settings.algorithm.batch_steps / length, threads);
  model->channel->learned_steps = steps.learned;
  auto segment = publishing->AddModel(name, settings.spec, config.server().shm == "on");
  if (!segment.ok()) return segment.status();
  OfferedModel offered{settings, model->channel, *segment};
  MURMURATE_RETURN_IF_ERROR(AddSource(model.get(), settings, resumed));
  model->channel->fed = !model->source->from_actors();
  if (model->recording) offered.record = model->recording->taker();
  offered.batches_ahead += threads - 1;
  offered.current_only = settings.algorithm.staleness == StalenessPolicy::kBlock;
  std::lock_guard lock(models_mutex);
  model->evaluating = MakeEvaluating(*model);
  if (models.empty()) offered.lockstep_steps = config.run().most_steps();
  operate->PostModel(name);
  model->spare.Give(StateOf(*learner));  // the first checkpoint's memory, before anybody learns
  MURMURATE_RETURN_IF_ERROR(StartLearning(model.get(), std::move(learner), resumed));
  models.push_back(std::move(model));
  return offered;
}

/// Null: this learner has no such game.
std::unique_ptr<Evaluating> Daemon::State::MakeEvaluating(const LiveModel& model) {
  if (!model.source->of_a_game()) return nullptr;
  return Evaluating::Make(
      config, model.name, model.channel->spec,
      [this] {
        const auto now = live->settings();
        return SettingsOfPlay::Values(now.begin(), now.end());
      },
      [this, &model](const Evaluation& evaluation, const SettingsOfPlay::Values& under,
                     std::shared_ptr<const Snapshot> snapshot) {
        PostEvaluation(model, evaluation, under, std::move(snapshot));
      },
      log);
}

/// On whichever thread has played.
void Daemon::State::PostEvaluation(const LiveModel& model, const Evaluation& evaluation,
                                   const SettingsOfPlay::Values& settings,
                                   std::shared_ptr<const Snapshot> snapshot) {
  operate->PostEvaluation(model.name, evaluation);
  operate->PostBest(
      model.name, {evaluation.mean_return, settings},
      MakerOf(config, model.channel->spec, std::move(snapshot), evaluation.made_after()));
}

/// The models of the run that goes on, before anybody comes.
Status Daemon::State::Resume() {
  if (!options.plan) return {};
  for (const ResumedModel& resumed : options.plan->models)
    MURMURATE_RETURN_IF_ERROR(ResumeModel(resumed));
  if (!options.plan->models.empty())
    MURMURATE_RETURN_IF_ERROR(
        live->Load(StateReader(options.plan->models.front().found.checkpoint.state, "settings")));
  options.plan.reset();  // its checkpoints are large
  return {};
}

Status Daemon::State::ResumeModel(const ResumedModel& resumed) {
  const Checkpoint& checkpoint = resumed.found.checkpoint;
  const WeightsFile& weights = checkpoint.weights;
  const SavedState& state = checkpoint.state;
  ModelSettings settings = resumed.settings;
  MURMURATE_RETURN_IF_ERROR(FitToActors(resumed.name, &settings));
  auto learner = std::make_unique<Learner>(settings.spec, settings.algorithm,
                                           DeriveSeed(config.run().seed, models.size()),
                                           settings.beginning, MakeStore(resumed.name, settings));
  if (Status status = learner->Load(weights.version, weights.parameters, state); !status.ok())
    return InvalidData(resumed.found.folder + ": " + status.message());
  auto offered = TakeModel(resumed.name, settings, std::move(learner), checkpoint.steps(), &state);
  if (!offered.ok()) return offered.status();
  LiveModel& model = *models.back();
  model.checkpoints.StartAt(weights.steps);
  if (model.source->from_actors())
    MURMURATE_RETURN_IF_ERROR(
        ingest->AddModel(resumed.name, *offered, StateReader(state, "session")));
  MURMURATE_RETURN_IF_ERROR(live->LoadRates(resumed.name, StateReader(state, "rates")));
  log(LogLevel::kInfo, "model " + resumed.name + ": goes on from " + resumed.found.folder +
                           ", version " + std::to_string(weights.version));
  return {};
}

Result<std::unique_ptr<Learner>> Daemon::State::MakeLearner(const std::string& name,
                                                            const ModelSettings& settings) {
  std::optional<InitialWeights> weights;
  if (!settings.initial_file.path.empty()) {
    auto match = MatchInitialFile(settings.initial_file, options.initial_files, settings.spec);
    if (!match.ok()) {
      log(LogLevel::kError, "model " + name + ": " + match.status().message());
      return InvalidArgument("model " + name + ": " + match.status().message());
    }
    weights = std::move(*match);
    log(LogLevel::kInfo, "model " + name + ": " + weights->report);
  }
  auto learner = std::make_unique<Learner>(settings.spec, settings.algorithm,
                                           DeriveSeed(config.run().seed, models.size()),
                                           settings.beginning, MakeStore(name, settings));
  if (weights) learner->BeginWith(weights->match);
  return learner;
}

/// Null: the learner's own.
std::unique_ptr<ParameterStore> Daemon::State::MakeStore(const std::string& name,
                                                         const ModelSettings& settings) {
  if (settings.hogwild)
    return std::make_unique<HogwildStore>(*settings.hogwild, settings.spec,
                                          settings.algorithm.max_grad_norm);
  if (options.job)
    return std::make_unique<CollectiveStore>(
        options.job.get(),
        CollectiveSettings{OptimizerOf(settings.algorithm), settings.algorithm.max_grad_norm},
        settings.spec,
        CollectiveCallbacks{[this] { signals->Request(RunEnd::kAsked); },
                            [this](Status status) { signals->RequestFailure(std::move(status)); }});
  if (!settings.remote) return nullptr;
  return std::make_unique<RemoteStore>(
      *settings.remote, name, settings.spec,
      RemoteCallbacks{
          log, [this](Status status) { signals->RequestFailure(std::move(status)); },
          [this, name](std::optional<ShardWait> wait) { shard_waits.Set(name, std::move(wait)); }});
}

void Daemon::State::Report(LiveModel* model, const LearnReport& report) {
  model->source->OnTrained();
  if (model->channel->fed) model->steps = model->channel->steps();
  TrainingUpdate update = ToUpdate(model->name, *model->channel, report, model->steps);
  update.metrics.Set(kVersion, static_cast<double>(model->newest->version));  // perhaps another's
  if (model->checkpoints.Due(update.steps.learned, update.at_ns)) model->checkpoint_due = true;
  operate->Post(std::move(update));
}

LearnCallbacks Daemon::State::CallbacksOf(LiveModel* model) {
  LearnCallbacks callbacks;
  callbacks.on_snapshot = [this, model](std::shared_ptr<const Snapshot> snapshot) {
    model->gate.Pass([&] {
      if (model->newest && snapshot->version <= model->newest->version) return;
      model->newest = snapshot;
      publishing->Post(model->name, snapshot);
      publishing->Wake();
      model->source->OnSnapshot(snapshot);
      if (model->evaluating) model->evaluating->Offer(std::move(snapshot), model->steps);
    });
  };
  callbacks.on_report = [this, model](const LearnReport& report) {
    model->gate.Pass([&] { Report(model, report); });
  };
  callbacks.on_learned = [this, model](const LearnReport& report, StepCount steps) {
    model->gate.Pass([&] {
      if (!model->channel->fed) model->steps.RaiseTo(steps);
      const auto settings = live->Learned(model->name, report.episodes, model->steps.learned);
      if (!settings.empty()) operate->PostReports(model->name, settings, false);
    });
  };
  callbacks.border_due = [model] {
    bool due = false;
    model->gate.Pass([&] { due = model->checkpoint_due; });
    return due;
  };
  callbacks.at_border = [this, model](const Learner&, std::uint64_t) {
    model->gate.Pass([&] {
      if (std::exchange(model->checkpoint_due, false)) PostCheckpoint(model);
    });
  };
  callbacks.wake_ingest = [this, model] { model->gate.Pass([&] { ingest->Wake(); }); };
  return callbacks;
}

Status Daemon::State::StartLearning(LiveModel* model, std::unique_ptr<Learner> learner,
                                    const SavedState* resumed) {
  const std::uint64_t seed = DeriveSeed(config.run().seed, models.size());
  const Learner& first = *learner;
  const auto add = [&](std::unique_ptr<Learner> one) {
    model->learning.push_back(std::make_unique<LearnLoop>(
        model->channel, std::move(one), CallbacksOf(model), MonotonicNs, model->turns));
  };
  add(std::move(learner));
  for (int i = 1; i < model->channel->learners; ++i)  // after a resume the order is a new one
    add(first.SharedReplica(
        DeriveSeed(DeriveSeed(seed, static_cast<std::uint64_t>(i) + 1), first.version())));
  if (resumed) MURMURATE_RETURN_IF_ERROR(model->learning.front()->LoadStore(*resumed));
  live->AddModel(
      model->name, first.rates(), [model] { return model->channel->steps().learned; },
      [model](const Rates& rates) {
        for (const auto& learning : model->learning) learning->PostRates(rates);
      });
  model->learning.front()->PollOnce(std::chrono::milliseconds(0));  // the first weights are out
  StartThreads(model);
  return {};
}

void Daemon::State::StartThreads(LiveModel* model) {
  const std::string number = models.empty() ? "" : '.' + std::to_string(models.size());
  for (std::size_t i = 0; i < model->learning.size(); ++i) {
    LearnLoop* const learning = model->learning[i].get();
    model->loops.push_back(std::make_unique<Loop>(
        i == 0 ? "mmr-learn" + number : "mmr-hog" + number + ':' + std::to_string(i + 1),
        [this, model, learning] {
          ++model->busy;
          if (!learning->PollOnce(model->source->longest_wait())) PostUnlearned(model);
          --model->busy;
        },
        [model] { model->channel->ready.Close(); }));
  }
}

void Daemon::State::AskLearningToEnd() {
  for (const auto& model : models) {
    model->source->Stop();
    for (const auto& loop : model->loops) loop->RequestStop();
    for (const auto& learning : model->learning) learning->Interrupt();
    model->turns->End(*model->channel);  // only batches in training are waited for
  }
}

/// A rank's batch is the others', too: who left in its middle would end the job. So it waits as
/// long as that takes, and the second signal, or the launcher, ends it.
void Daemon::State::AwaitBatch(const LiveModel& model, std::int64_t deadline_ns) {
  while (model.busy > 0 && (options.job || MonotonicNs() < deadline_ns)) {
    if (options.job)
      (void)signals->Wait(1);
    else
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void Daemon::State::EndLearning(std::int64_t deadline_ns) {
  for (const auto& model : models) {
    AwaitBatch(*model, deadline_ns);
    if (model->busy == 0) {
      model->loops.clear();
      continue;
    }
    model->gate.Shut();
    thread_left = true;
    log(LogLevel::kWarning,
        "model " + model->name + ": its last batch takes too long, so its result is lost");
  }
}

void Daemon::State::LeaveBusyModels() {
  for (auto& model : models)
    if (model->gate.shut()) (void)model.release();  // its thread still reads it
}

}  // namespace murmurate
