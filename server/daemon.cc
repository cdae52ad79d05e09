#include "server/daemon.h"

#include <sys/resource.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>

#include "server/evaluating.h"
#include "server/feeding.h"
#include "server/gate.h"
#include "server/ingest/ingest.h"
#include "server/learn/learn_loop.h"
#include "server/live_numbers.h"
#include "server/log.h"
#include "server/make_checkpoint.h"
#include "server/training_update.h"
#include "server/version.h"
#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "shared/core/loop.h"
#include "shared/core/random.h"
#include "shared/weights/publishing.h"
#include "shared/weights/shared_memory_weights.h"

namespace murmurate {
namespace {

constexpr std::int64_t kGoodbyeNs = kNanosecondsPerSecond;
constexpr std::int64_t kLastBatchNs = 3 * kNanosecondsPerSecond;

/// What one model needs while the daemon lives.
struct LiveModel {
  explicit LiveModel(const CheckpointSettings& settings)
      : checkpoints(settings.every_steps, settings.every_s, MonotonicNs()) {}

  std::string name;
  std::shared_ptr<ExperienceChannel> channel;
  std::unique_ptr<LearnLoop> learning;
  std::shared_ptr<const Snapshot> newest;
  std::unique_ptr<Evaluating> evaluating;  ///< null where the learner has no such game
  Gate gate;  ///< of the learning thread's callbacks; shut when its last batch takes too long
  std::atomic<bool> busy{false};
  CheckpointTimes checkpoints;
  std::unique_ptr<Feeding> feeding;      ///< of a run that learns from files
  std::unique_ptr<Recording> recording;  ///< of one that keeps what actors send
  std::unique_ptr<Loop> loop;            ///< last: its thread uses all of the above
};

std::atomic<bool> thread_left{false};

}  // namespace

struct Daemon::State {
  State(const Config& given, DaemonOptions given_options, Signals* given_signals,
        RunDirectory given_directory)
      : config(given),
        options(std::move(given_options)),
        signals(given_signals),
        directory(std::move(given_directory)),
        display(options.display) {}

  Status Open();
  Status OpenSockets(const std::string& folder);
  Status WriteFiles() const;
  void StartLoops();
  Result<OfferedModel> Offer(const std::string& name, const Spaces& spaces);
  Result<OfferedModel> MakeModel(const std::string& name, const Spaces& spaces);
  Status AddFiles(LiveModel* model, const ModelSettings& settings);
  Result<std::unique_ptr<Learner>> MakeLearner(const std::string& name,
                                               const ModelSettings& settings) const;
  void StartLearning(LiveModel* model, std::unique_ptr<Learner> learner);
  ActorsView Actors() const;
  void AskLearningToEnd();
  void EndLearning(std::int64_t deadline_ns);
  void LeaveBusyModels();
  void SayGoodbye(const std::string& reason, const std::function<bool()>& actors_gone);
  void PostCheckpoint(LiveModel* model);
  std::string WriteLastCheckpoints();

  const Config config;
  const DaemonOptions options;
  Signals* const signals;
  RunDirectory directory;
  Display display;
  LogCallback log;
  const std::uint64_t incarnation = RandomIdentity();
  std::string admin_address;
  SocketContext context;
  std::unique_ptr<Ingest> ingest;
  std::unique_ptr<Publishing> publishing;
  std::unique_ptr<Operate> operate;
  std::optional<LiveNumbers> live;
  std::vector<std::string> addresses;
  std::mutex models_mutex;  ///< mmr-ingest adds models, the main thread ends them
  std::vector<std::unique_ptr<LiveModel>> models;
  std::unique_ptr<Loop> publish_loop, checkpoint_loop, operate_loop, ingest_loop;
  bool stopped = false;
};

Status Daemon::State::Open() {
  auto opened = Log::Open(directory.path() + "/log.txt", &display, options.console);
  if (!opened.ok()) return opened.status();
  log = opened->callback();
  MURMURATE_RETURN_IF_ERROR(RaiseFileLimit());
  if (const int swept = SweepDeadWeightSegments(); swept > 0)
    log(LogLevel::kInfo,
        "removed " + std::to_string(swept) + " shared-memory segments of dead learners");
  auto folder = RuntimeFolder();
  if (!folder.ok()) return folder.status();
  MURMURATE_RETURN_IF_ERROR(OpenSockets(*folder));
  MURMURATE_RETURN_IF_ERROR(WriteFiles());
  StartLoops();
  return options.source ? MakeModel("default", options.source->spaces()).status() : Status();
}

Status Daemon::State::OpenSockets(const std::string& folder) {
  IngestOptions in;
  for (const std::string& address : config.server().listen)
    in.listen.push_back(address == "ipc" ? "ipc://" + folder + "main" : address);
  in.incarnation = incarnation;
  in.seed = config.run().seed;
  in.limits.ingest_budget_bytes = config.server().ingest_budget_bytes;
  in.limits.max_actors = config.server().max_actors;
  in.shm = config.server().shm != "off";
  in.on_reports = [this](const std::string& model, std::span<const wire::ReportedNumber> numbers,
                         bool evaluated) { operate->PostReports(model, numbers, evaluated); };
  in.on_evaluated = [this](const std::string& model, std::span<const EpisodeRecord> episodes) {
    operate->PostEvaluated(model, episodes);
  };
  in.log = log;
  auto made_ingest = Ingest::Open(
      context, in,
      [this](const std::string& name, const Spaces& spaces) { return Offer(name, spaces); });
  if (!made_ingest.ok()) return made_ingest.status();
  ingest = std::move(*made_ingest);
  addresses = ingest->addresses();
  live.emplace(
      config.game_settings(),
      [this](const wire::Settings& settings) { ingest->SetSettings(settings); }, log);
  auto family = SisterAddresses(addresses.front());
  if (!family.ok()) return family.status();
  auto made_publishing = Publishing::Open(
      context, {family->announce, family->weights, directory.name(), incarnation, in.shm, log});
  if (!made_publishing.ok()) return made_publishing.status();
  publishing = std::move(*made_publishing);
  OperateOptions op;
  op.title = directory.name() + ": " + config.AlgorithmNameFor();
  op.directory = &directory;
  op.display = &display;
  op.stop = {config.run().stop_at_return, config.run().stop_at_steps, config.run().steps};
  op.retention = config.checkpoint().retention;
  op.log_interval_s = config.run().log_interval_s;
  op.start_ns = options.start_ns;
  op.listen = addresses;
  op.admin_address = admin_address = "ipc://" + folder + "admin";
  op.actors = [this] { return Actors(); };
  op.settings = [this] { return live->settings(); };
  op.set = [this](const std::string& assignment) { return live->Set(assignment); };
  op.on_end = [this](RunEnd end) { signals->Request(end); };
  op.log = log;
  auto made_operate = Operate::Open(context, std::move(op));
  if (!made_operate.ok()) return made_operate.status();
  operate = std::move(*made_operate);
  return {};
}

Status Daemon::State::WriteFiles() const {
  MURMURATE_RETURN_IF_ERROR(directory.Write("config.toml", config.Resolved()));
  MURMURATE_RETURN_IF_ERROR(directory.Write("command.txt", options.command + '\n'));
  MURMURATE_RETURN_IF_ERROR(directory.Write("version.json", VersionJson()));
  const nlohmann::json address{{"pid", getpid()},
                               {"incarnation", std::to_string(incarnation)},
                               {"listen", addresses},
                               {"announce", publishing->announce_address()},
                               {"weights", publishing->weights_address()},
                               {"admin", admin_address}};
  return directory.Write("address.json", address.dump(2) + '\n');
}

void Daemon::State::StartLoops() {
  publish_loop = std::make_unique<Loop>(
      "mmr-publish", [this] { publishing->PollOnce(200); }, [this] { publishing->Wake(); });
  checkpoint_loop = std::make_unique<Loop>(
      "mmr-checkpoint", [this] { operate->writer().PollOnce(1000); },
      [this] { operate->writer().Wake(); });
  operate_loop = std::make_unique<Loop>(
      "mmr-operate", [this] { operate->PollOnce(20); }, [this] { operate->Wake(); });
  ingest_loop = std::make_unique<Loop>(
      "mmr-ingest", [this] { ingest->PollOnce(20); }, [this] { ingest->Wake(); });
}

Result<OfferedModel> Daemon::State::Offer(const std::string& name, const Spaces& spaces) {
  if (!options.source) return MakeModel(name, spaces);
  return InvalidArgument("this learner learns from " + options.source->Description() +
                         " and takes no experience; connect to a learner without [data]");
}

Status Daemon::State::AddFiles(LiveModel* model, const ModelSettings& settings) {
  if (options.source) {
    MURMURATE_RETURN_IF_ERROR(
        options.source->PrepareFor(settings.spec, settings.algorithm.trajectory_length));
    model->feeding = std::make_unique<Feeding>(model->channel, options.source, config.data(),
                                               config.run().seed, [this](Status status) {
                                                 if (status.ok())
                                                   return signals->Request(RunEnd::kStepsReached);
                                                 signals->RequestFailure(std::move(status));
                                               });
    return {};
  }
  if (config.recording().folder.empty()) return {};
  auto recording = Recording::Start(config.recording(), model->name,
                                    static_cast<int>(models.size()), *model->channel, log);
  if (recording.ok()) model->recording = std::move(*recording);
  if (!recording.ok()) signals->RequestFailure(recording.status());
  return recording.status();
}

Result<OfferedModel> Daemon::State::MakeModel(const std::string& name, const Spaces& spaces) try {
  Result<ModelSettings> made = config.ModelFor(name, spaces);
  if (!made.ok()) return InvalidArgument("model " + name + ": " + made.status().message());
  const ModelSettings& settings = *made;
  auto learner = MakeLearner(name, settings);
  if (!learner.ok()) return learner.status();
  auto segment = publishing->AddModel(name, settings.spec, config.server().shm == "on");
  if (!segment.ok()) {
    if (segment.status().code() == StatusCode::kResource) signals->RequestFailure(segment.status());
    return segment.status();
  }
  const int length = settings.algorithm.trajectory_length;
  auto model = std::make_unique<LiveModel>(config.checkpoint());
  model->name = name;
  model->channel = std::make_shared<ExperienceChannel>(settings.spec, length,
                                                       settings.algorithm.batch_steps / length);
  MURMURATE_RETURN_IF_ERROR(AddFiles(model.get(), settings));
  OfferedModel offered{model->channel, *segment, settings.max_trajectory_s, settings.max_batch_s};
  offered.current_only = settings.algorithm.staleness == StalenessPolicy::kBlock;
  offered.quorum = settings.quorum;
  if (model->recording) offered.record = model->recording->taker();
  std::lock_guard lock(models_mutex);
  model->evaluating = Evaluating::Make(
      config, name, model->channel->spec,
      [this](std::string_view setting, double usual) { return live->Setting(setting, usual); },
      [this, name](const Evaluation& evaluation, const WeightsFile&) {
        operate->PostEvaluation(name, evaluation);
      },
      log);
  StartLearning(model.get(), std::move(*learner));
  models.push_back(std::move(model));
  if (models.back()->feeding) models.back()->feeding->Start();
  log(LogLevel::kInfo, "model " + name + ": made for the spaces of " +
                           (options.source ? options.source->Description() : "its first actor"));
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

Result<std::unique_ptr<Learner>> Daemon::State::MakeLearner(const std::string& name,
                                                            const ModelSettings& settings) const {
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
  auto learner =
      std::make_unique<Learner>(settings.spec, settings.algorithm,
                                DeriveSeed(config.run().seed, models.size()), settings.beginning);
  if (weights) learner->BeginWith(weights->match);
  return learner;
}

void Daemon::State::StartLearning(LiveModel* model, std::unique_ptr<Learner> learner) {
  LearnCallbacks callbacks;
  callbacks.on_snapshot = [this, model](std::shared_ptr<const Snapshot> snapshot) {
    model->gate.Pass([&] {
      model->newest = snapshot;
      publishing->Post(model->name, snapshot);
      publishing->Wake();
      if (model->evaluating)
        model->evaluating->Offer(std::move(snapshot), model->channel->environment_steps.load());
    });
  };
  callbacks.on_report = [this, model](const LearnReport& report) {
    model->gate.Pass([&] {
      TrainingUpdate update = ToUpdate(model->name, *model->channel, report);
      const bool due = model->checkpoints.Due(update.environment_steps, update.at_ns);
      operate->Post(std::move(update));
      if (due) PostCheckpoint(model);
    });
  };
  callbacks.on_learned = [this, model](const LearnReport& report, std::uint64_t steps) {
    model->gate.Pass([&] {
      const auto settings = live->Learned(model->name, report.episodes, steps);
      if (!settings.empty()) operate->PostReports(model->name, settings, false);
    });
  };
  callbacks.wake_ingest = [this, model] {
    model->gate.Pass([&] {
      if (model->feeding) model->feeding->OnTrained();
      ingest->Wake();
    });
  };
  model->learning =
      std::make_unique<LearnLoop>(model->channel, std::move(learner), std::move(callbacks));
  live->AddModel(
      model->name, model->learning->learner().rates(),
      [model] { return model->channel->environment_steps.load(); },
      [model](const Rates& rates) { model->learning->PostRates(rates); });
  const std::string number = models.empty() ? "" : '.' + std::to_string(models.size());
  model->loop = std::make_unique<Loop>(
      "mmr-learn" + number,
      [model] {
        model->busy = true;
        model->learning->PollOnce(std::chrono::milliseconds(100));
        model->busy = false;
      },
      [model] { model->channel->ready.Close(); });
}

void Daemon::State::AskLearningToEnd() {
  for (const auto& model : models) {
    if (model->feeding) model->feeding->Stop();
    model->loop->RequestStop();
    while (model->channel->ready.TryPop()) continue;  // only the batch in training is waited for
  }
}

void Daemon::State::EndLearning(std::int64_t deadline_ns) {
  for (const auto& model : models) {
    while (model->busy && MonotonicNs() < deadline_ns)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (!model->busy) {
      model->loop.reset();
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

ActorsView Daemon::State::Actors() const {
  Ingest::Report report = ingest->TakeReport();
  return {std::move(report.actors), report.refusals, report.duplicates,
          report.messages,          report.bytes,    std::move(report.waiting)};
}

void Daemon::State::SayGoodbye(const std::string& reason,
                               const std::function<bool()>& actors_gone) {
  ingest->SayGoaway({reason, 2000, false});
  const std::int64_t deadline = MonotonicNs() + kGoodbyeNs;
  do {
    ingest->PollOnce(5);
  } while (!actors_gone() && MonotonicNs() < deadline);
}

/// At a batch border on the learning thread, or after that has ended.
void Daemon::State::PostCheckpoint(LiveModel* model) {
  if (!model->newest) return;
  operate->PostCheckpoint(model->name, MakerOf(config, model->channel->spec, model->newest,
                                               model->channel->environment_steps.load()));
}

/// After Operate::Finish has passed on what was posted. The first model's; "" when there is none.
std::string Daemon::State::WriteLastCheckpoints() {
  checkpoint_loop.reset();
  while (operate->writer().PollOnce(0)) continue;
  const CheckpointHealth health = operate->checkpoints();
  const bool written = health.last_step && health.trouble.empty();
  return written ? directory.path() + "/checkpoints/latest" : "";
}

Daemon::Daemon(std::unique_ptr<State> state) : state_(std::move(state)) {}

Daemon::~Daemon() {
  if (!state_->stopped && state_->ingest_loop) (void)Stop("the learner stops", [] { return true; });
}

Result<std::unique_ptr<Daemon>> Daemon::Start(const Config& config, DaemonOptions options,
                                              Signals* signals) {
  auto directory = RunDirectory::Open(config.run().dir, config.run().name, options.when_taken);
  if (!directory.ok()) return directory.status();
  std::unique_ptr<Daemon> daemon(new Daemon(
      std::make_unique<State>(config, std::move(options), signals, std::move(*directory))));
  if (Status status = daemon->state_->Open(); !status.ok()) return status;
  return daemon;
}

const std::vector<std::string>& Daemon::addresses() const { return state_->addresses; }
const std::string& Daemon::directory() const { return state_->directory.path(); }
const LogCallback& Daemon::log() const { return state_->log; }
int Daemon::actors_left() const {
  int left = 0;
  for (const auto& actor : state_->ingest->TakeReport().actors)
    left += actor.health == wire::ServerSession::ActorReport::Health::kLive;
  return left;
}

void Daemon::Print(const std::string& line) { state_->display.Print(line, stdout); }

Daemon::Outcome Daemon::Stop(const std::string& reason, const std::function<bool()>& actors_gone) {
  State& state = *state_;
  state.stopped = true;
  state.ingest_loop.reset();
  state.AskLearningToEnd();
  const std::int64_t deadline_ns = MonotonicNs() + kLastBatchNs;
  state.SayGoodbye(reason, actors_gone);
  state.EndLearning(deadline_ns);
  for (const auto& model : state.models)
    if (model->recording)
      state.log(LogLevel::kInfo, "model " + model->name + ": " + model->recording->Finish());
  state.operate_loop.reset();
  state.publish_loop.reset();
  for (const auto& model : state.models) state.PostCheckpoint(model.get());
  for (const auto& model : state.models)
    if (model->evaluating) model->evaluating->Finish(!state.operate->ended_by_itself());
  state.operate->Finish();
  const Progress& progress = state.operate->progress();
  const std::int64_t last_ns = progress.last().at_ns;
  Outcome outcome{progress.steps(), progress.elapsed_s(last_ns > 0 ? last_ns : MonotonicNs()),
                  progress.mean_return(), progress.evaluation(), state.WriteLastCheckpoints()};
  outcome.learner_wait = progress.last().learner_wait;
  outcome.actor_wait = progress.last().actor_wait;
  outcome.scores = progress.Scores();
  state.log(LogLevel::kInfo, "stopped: " + reason);
  state.LeaveBusyModels();
  return outcome;
}

bool Daemon::left_a_thread() { return thread_left; }

Status RaiseFileLimit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_max >= 1024) return {};
  return ResourceError(
      "at most " + std::to_string(limit.rlim_max) +
      " files may be open, expected at least 1024; raise the limit with ulimit -Hn 4096");
}

}  // namespace murmurate
