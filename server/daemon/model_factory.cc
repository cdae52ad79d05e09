#include "server/daemon/model_factory.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "server/config/batch_fit.h"
#include "server/daemon/actor_source.h"
#include "server/daemon/feeding.h"
#include "server/daemon/stream_source.h"
#include "server/ingest/offered_model.h"
#include "server/operate/operate_settings.h"
#include "server/parameters/collective_store.h"
#include "server/stream/config_stream.h"
#include "shared/core/check.h"
#include "shared/core/random.h"

namespace murmurate {

Result<OfferedModel> ModelFactory::Offer(const std::string& name, const Spaces& spaces) {
  if (parts_.config.StreamOf(name) != nullptr)
    return InvalidArgument("model " + name +
                           " is that of the stream of its name and learns from its "
                           "messages alone; choose another name");
  if (!parts_.options.source) return Make(name, spaces);
  return InvalidArgument("this learner learns from " + parts_.options.source->Description() +
                         " and takes no experience; connect to a learner without [data]");
}

Result<OfferedModel> ModelFactory::Make(const std::string& name, const Spaces& spaces) try {
  if (parts_.options.job && !models_.all().empty())
    return InvalidArgument("model " + name + ": the ranks of a collective learn one model, here " +
                           models_.all().front()->name() +
                           "; start this one without the collective");
  Result<ModelSettings> made = ModelFor(parts_.config, name, spaces);
  if (!made.ok()) return InvalidArgument("model " + name + ": " + made.status().message());
  ModelSettings& settings = *made;
  MURMURATE_RETURN_IF_ERROR(FitToActors(name, &settings));
  auto learner = MakeNewLearner(name, settings);
  if (!learner.ok()) return learner.status();
  auto offered = Accept(name, settings, std::move(*learner), {});
  if (!offered.ok()) return offered;
  if (Status status = WriteRecord(); !status.ok()) parts_.log(LogLevel::kError, status.message());
  parts_.log(LogLevel::kInfo,
             "model " + name + ": made for " +
                 (parts_.config.StreamOf(name) != nullptr ? "the stream of its name"
                  : parts_.options.source ? "the spaces of " + parts_.options.source->Description()
                                          : "the spaces of its first actor"));
  return offered;
} catch (const std::bad_alloc&) {
  return ResourceError("model " + name +
                       ": no memory for its batches; lower algorithm.batch_steps or model.layers");
} catch (const std::system_error& error) {
  const Status status =
      ResourceError("model " + name + ": a thread of its own could not be started (" +
                    error.code().message() + "); lower model.threads");
  parts_.log(LogLevel::kError, status.message());
  return status;
}

Status ModelFactory::MakeStreams() {
  for (const StreamSettings& stream : parts_.config.streams())
    if (!models_.Has(stream.name))
      MURMURATE_RETURN_IF_ERROR(Make(stream.name, stream.spaces()).status());
  return {};
}

Status ModelFactory::Resume(const ResumedModel& resumed) {
  const Checkpoint& checkpoint = resumed.found.checkpoint;
  const WeightsFile& weights = checkpoint.weights;
  const SavedState& state = checkpoint.state;
  ModelSettings settings = resumed.settings;
  MURMURATE_RETURN_IF_ERROR(FitToActors(resumed.name, &settings));
  auto made = MakeLearner(resumed.name, settings);
  if (!made.ok()) return made.status();
  if (Status status = made->learner->Load(weights.version, checkpoint.steps().learned,
                                          weights.parameters, state);
      !status.ok())
    return InvalidData(resumed.found.folder + ": " + status.message());
  auto offered = Accept(resumed.name, settings, *std::move(made), checkpoint.steps(), &state);
  if (!offered.ok()) return offered.status();
  LiveModel& model = *models_.all().back();
  model.checkpoint_times().StartAt(weights.steps);
  if (model.source().from_actors())
    MURMURATE_RETURN_IF_ERROR(
        parts_.ingest->AddModel(resumed.name, *offered, StateReader(state, "session")));
  MURMURATE_RETURN_IF_ERROR(parts_.live->LoadRates(resumed.name, StateReader(state, "rates")));
  parts_.log(LogLevel::kInfo, "model " + resumed.name + ": goes on from " + resumed.found.folder +
                                  ", version " + std::to_string(weights.version));
  return {};
}

Status ModelFactory::WriteRecord() const {
  RunRecord record{{}, parts_.addresses, parts_.options.own_actors};
  for (const auto& model : models_.all()) record.models.push_back(model->name());
  return parts_.directory.Write("resume.json", record.ToJson());
}

/// Checks before anything is made that trajectories fit a message, and batches the memory. Learners
/// of one model have rates that agree.
Status ModelFactory::FitToActors(const std::string& name, ModelSettings* settings) const {
  if (settings->remote || settings->hogwild || parts_.options.job)
    settings->algorithm.adaptive_kl = 0.0;
  if (parts_.options.source || parts_.config.StreamOf(name) != nullptr) return {};
  const auto fitted = FitBatches(name, MostTrajectoryBytes(), settings);
  if (fitted.ok() && !fitted->empty()) parts_.log(LogLevel::kWarning, *fitted);
  return fitted.status();
}

/// A device that fails here ends the run: no actor can do anything about it.
Result<ModelFactory::MadeLearner> ModelFactory::MakeLearner(const std::string& name,
                                                            const ModelSettings& settings) {
  const std::uint64_t seed = DeriveSeed(parts_.config.run().seed, models_.all().size());
  auto place = parts_.places->Make(name, settings, [&] { return MakeStore(name, settings); });
  if (!place.ok()) {
    parts_.signals->RequestFailure(place.status());
    return place.status();
  }
  if (!place->sentence.empty()) parts_.log(LogLevel::kInfo, place->sentence);
  return MadeLearner{std::make_unique<Learner>(settings.spec, settings.algorithm, seed,
                                               settings.beginning, std::move(place->trainer)),
                     std::move(place->memory)};
}

Result<ModelFactory::MadeLearner> ModelFactory::MakeNewLearner(const std::string& name,
                                                               const ModelSettings& settings) {
  std::optional<InitialWeights> weights;
  if (!settings.initial_file.path.empty()) {
    auto match =
        MatchInitialFile(settings.initial_file, parts_.options.initial_files, settings.spec);
    if (!match.ok()) {
      parts_.log(LogLevel::kError, "model " + name + ": " + match.status().message());
      return InvalidArgument("model " + name + ": " + match.status().message());
    }
    weights = std::move(*match);
    parts_.log(LogLevel::kInfo, "model " + name + ": " + weights->report);
  }
  auto made = MakeLearner(name, settings);
  if (made.ok() && weights) made->learner->BeginWith(weights->match);
  return made;
}

/// Null: the learner's own.
std::unique_ptr<ParameterStore> ModelFactory::MakeStore(const std::string& name,
                                                        const ModelSettings& settings) {
  if (settings.hogwild)
    return std::make_unique<HogwildStore>(*settings.hogwild, settings.spec,
                                          settings.algorithm.max_grad_norm);
  if (parts_.options.job)
    return std::make_unique<CollectiveStore>(
        parts_.options.job.get(),
        CollectiveSettings{OptimizerOf(settings.algorithm), settings.algorithm.max_grad_norm,
                           settings.algorithm.normalize_reward},
        settings.spec,
        CollectiveCallbacks{
            [this] { parts_.signals->Request(RunEnd::kAsked); },
            [this](Status status) { parts_.signals->RequestFailure(std::move(status)); },
            [this, name](LogLevel level, std::string_view line) {
              parts_.log(level, "model " + name + ": " + std::string(line));
            }});
  if (!settings.remote) return nullptr;
  return std::make_unique<RemoteStore>(
      *settings.remote, name, settings.spec,
      RemoteCallbacks{parts_.log,
                      [this](Status status) { parts_.signals->RequestFailure(std::move(status)); },
                      [this, name](std::optional<ShardWait> wait) {
                        parts_.shard_waits.Set(name, std::move(wait));
                      }});
}

Result<OfferedModel> ModelFactory::Accept(const std::string& name, const ModelSettings& settings,
                                          MadeLearner made, StepCount steps,
                                          const SavedState* resumed) {
  auto model = std::make_unique<LiveModel>(&parts_, name, settings, steps, models_.all().size(),
                                           std::move(made.memory));
  auto segment =
      parts_.publishing->AddModel(name, settings.spec, parts_.config.server().shm == "on");
  if (!segment.ok()) return segment.status();
  OfferedModel offered{settings, model->channel(), *segment};
  MURMURATE_RETURN_IF_ERROR(AddSource(model.get(), settings, resumed));
  const auto play = OpenDemonstrations(name, settings);
  if (!play.ok()) return play.status();
  if (model->recording() != nullptr) offered.record = model->recording()->taker();
  offered.batches_ahead += model->channel()->learners - 1;
  if (parts_.options.job) offered.sizing = {};
  offered.current_only = settings.algorithm.staleness == StalenessPolicy::kBlock;
  if (models_.all().empty()) offered.lockstep_steps = parts_.config.run().most_steps();
  ModelEvaluations* const evaluations = &model->evaluations();
  offered.on_evaluated = [evaluations](std::span<const EpisodeRecord> episodes) {
    evaluations->AddPlayed(episodes);
  };
  // Without its first model, or one that it is resumed with, the run ends; a later one is refused.
  const bool needed = models_.all().empty() || resumed != nullptr;
  Status started = models_.Add(std::move(model), std::move(made.learner), resumed,
                               StoreDirectory(settings, name), play->get());
  if (!started.ok() && needed) parts_.signals->RequestFailure(started);
  MURMURATE_RETURN_IF_ERROR(std::move(started));
  offered.evaluation_share = evaluations->share();
  return offered;
}

/// Nothing is kept on disk for a run without checkpoints: none would ever refer to it.
std::string ModelFactory::StoreDirectory(const ModelSettings& settings,
                                         const std::string& name) const {
  const CheckpointSettings& checkpoints = parts_.config.checkpoint();
  const bool keeps = settings.algorithm.kind->replays && settings.algorithm.replay.persist &&
                     (checkpoints.every_steps > 0 || checkpoints.every_s > 0);
  return keeps ? ModelFolderOf(parts_.directory.path(), name, models_.all().empty()) : "";
}

Status ModelFactory::AddSource(LiveModel* model, const ModelSettings& settings,
                               const SavedState* resumed) {
  if (const StreamSettings* stream = parts_.config.StreamOf(model->name()))
    return AddStream(model, *stream, resumed);
  if (parts_.options.source) {
    MURMURATE_RETURN_IF_ERROR(
        parts_.options.source->PrepareFor(settings.spec, settings.algorithm.trajectory_length));
    for (const std::string& note : parts_.options.source->Notes())
      parts_.log(LogLevel::kInfo, note);
    auto feeding =
        std::make_unique<Feeding>(model->channel(), parts_.options.source, parts_.config.data(),
                                  parts_.config.run(), [this](Status status) {
                                    if (status.ok())
                                      return parts_.signals->Request(RunEnd::kStepsReached);
                                    parts_.signals->RequestFailure(std::move(status));
                                  });
    if (resumed) MURMURATE_RETURN_IF_ERROR(feeding->Load(*resumed));
    model->SetSource(std::move(feeding));
    return {};
  }
  model->SetSource(std::make_unique<ActorSource>(parts_.ingest.get(), model->name()));
  return AddRecording(model);
}

Status ModelFactory::AddStream(LiveModel* model, const StreamSettings& stream,
                               const SavedState* resumed) {
  auto streaming = Streaming::Open(
      stream, parts_.config.server().insecure, model->channel(),
      [this, name = model->name()](std::span<const wire::ReportedNumber> numbers) {
        parts_.operate->PostReports(name, numbers, false);
      },
      parts_.log);
  if (!streaming.ok()) return streaming.status();
  auto source = std::make_unique<StreamSource>(*std::move(streaming));
  if (resumed) MURMURATE_RETURN_IF_ERROR(source->Load(*resumed));
  model->SetSource(std::move(source));
  return {};
}

/// Null: the config asks for none; without those that it asks for the run ends.
Result<std::unique_ptr<RecordedSteps>> ModelFactory::OpenDemonstrations(
    const std::string& name, const ModelSettings& settings) const {
  const std::string& folder = settings.algorithm.replay.demonstrations;
  if (folder.empty()) return std::unique_ptr<RecordedSteps>();
  auto play = RecordedSteps::Open(folder, settings.spec, settings.algorithm.trajectory_length);
  if (!play.ok()) {
    const Status status(play.status().code(), "replay.demonstrations: " + play.status().message());
    parts_.signals->RequestFailure(status);
    return status;
  }
  parts_.log(LogLevel::kInfo,
             "model " + name + ": its demonstrations are " + (*play)->Description());
  return play;
}

/// Adds a recording when the config asks for one.
Status ModelFactory::AddRecording(LiveModel* model) {
  if (parts_.config.recording().folder.empty()) return {};
  auto recording =
      Recording::Start(parts_.config.recording(), model->name(),
                       static_cast<int>(models_.all().size()), *model->channel(), parts_.log);
  if (recording.ok()) model->SetRecording(std::move(*recording));
  if (!recording.ok()) parts_.signals->RequestFailure(recording.status());
  return recording.status();
}

}  // namespace murmurate
