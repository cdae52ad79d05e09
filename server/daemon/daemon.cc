#include "server/daemon/daemon.h"

#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>

#include "server/daemon/daemon_state.h"
#include "server/daemon/descriptors.h"
#include "server/daemon/run_log.h"
#include "server/daemon/taken_port.h"
#include "server/daemon/version.h"
#include "shared/core/check.h"
#include "shared/model/safetensors.h"
#include "shared/weights/shared_memory_weights.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;
constexpr std::int64_t kGoodbyeNs = kNanosecondsPerSecond;
constexpr std::uint32_t kGoodbyeMs = 2000;
constexpr std::uint32_t kComesBackMs = 60'000;  ///< how long lock-step actors wait for a resume
/// Of loops that know when something of theirs is due, and are woken for all else.
constexpr int kLongestWaitMs = 10'000;
constexpr std::int64_t kLastBatchNs = 3 * kNanosecondsPerSecond;

}  // namespace

Status Daemon::State::Open() {
  auto opened = Log::Open(directory.path() + "/log.txt", &display, options.console);
  if (!opened.ok()) return opened.status();
  log = opened->callback();
  MURMURATE_RETURN_IF_ERROR(RaiseFileLimit());
  if (!options.source && !options.own_actors) log(LogLevel::kInfo, DescriptorsInWords());
  if (const int swept = SweepDeadWeightSegments(); swept > 0)
    log(LogLevel::kInfo,
        "removed " + std::to_string(swept) + " shared-memory segments of dead learners");
  auto folder = RuntimeFolder();
  if (!folder.ok()) return folder.status();
  MURMURATE_RETURN_IF_ERROR(OpenSockets(*folder));
  MURMURATE_RETURN_IF_ERROR(Resume());
  MURMURATE_RETURN_IF_ERROR(WriteFiles());
  StartLoops();
  if (options.source && models.empty())
    MURMURATE_RETURN_IF_ERROR(MakeModel("default", options.source->spaces()).status());
  MURMURATE_RETURN_IF_ERROR(MakeStreams());
  for (std::size_t i = 0; i < models.size(); ++i) models[i]->source->Start(static_cast<int>(i));
  // From here on this thread makes no models; a HELLO that came earlier waits.
  make_loop = std::make_unique<Loop>(
      "mmr-make", [this] { ingest->MakeModels(60'000); }, [this] { ingest->StopMaking(); });
  return {};
}

Status Daemon::State::OpenIngestAndPublishing(const IngestOptions& in) {
  ingest.reset();  // frees the ports of another attempt
  auto made_ingest = Ingest::Open(
      context, in,
      [this](const std::string& name, const Spaces& spaces) { return Offer(name, spaces); });
  if (!made_ingest.ok()) return made_ingest.status();
  ingest = std::move(*made_ingest);
  addresses = ingest->addresses();
  auto family = SisterAddresses(addresses.front());
  if (!family.ok()) return family.status();
  auto made_publishing = Publishing::Open(
      context, {family->announce, family->weights, directory.name(), incarnation, in.shm, log});
  if (!made_publishing.ok()) return made_publishing.status();
  publishing = std::move(*made_publishing);
  return {};
}

Status Daemon::State::OpenSockets(const std::string& folder) {
  IngestOptions in;
  auto listen = Listen(folder);
  if (!listen.ok()) return listen.status();
  in.listen = std::move(*listen);
  in.incarnation = incarnation;
  in.resumed = options.plan.has_value();
  in.seed = config.run().seed;
  in.limits.ingest_budget_bytes = config.server().ingest_budget_bytes;
  in.limits.max_actors = config.server().max_actors;
  in.shm = config.server().shm != "off";
  in.models_apart = true;
  in.on_reports = [this](const std::string& model, std::span<const wire::ReportedNumber> numbers,
                         bool evaluated) { operate->PostReports(model, numbers, evaluated); };
  in.on_evaluated = [this](const std::string& model, std::span<const EpisodeRecord> episodes) {
    operate->PostEvaluated(model, episodes);
  };
  in.log = log;
  Status opened = OpenIngestAndPublishing(in);
  // The system chose a port (tcp://HOST:*), and one of the two beside it is somebody else's.
  for (int i = 0;
       i < 20 && opened.code() == StatusCode::kAlreadyRunning && in.listen.front().ends_with(":*");
       ++i) {
    opened = OpenIngestAndPublishing(in);
  }
  if (opened.code() == StatusCode::kAlreadyRunning)
    return WithPortHolder(std::move(opened), in.listen.front(), folder);
  MURMURATE_RETURN_IF_ERROR(opened);
  live.emplace(
      config.game_settings(),
      [this](const wire::Settings& settings) { ingest->SetSettings(settings); }, log);
  OperateOptions op;
  op.title = directory.name() + ": " + config.AlgorithmNameFor();
  op.directory = &directory;
  op.display = &display;
  if (!config.run().follows())
    op.stop = {config.run().stop_at_return, config.run().stop_at_steps, config.run().steps};
  op.retention = config.checkpoint().retention;
  if (options.plan)
    for (const ResumedModel& model : options.plan->models)
      op.resumed.push_back(
          {model.name, &model.found.checkpoint.state, model.found.checkpoint.weights.steps});
  op.on_tried = [this](const std::string& at, const Status& written, Checkpoint& checkpoint) {
    TakeBack(at, written.ok(), &checkpoint);
  };
  op.log_interval_s = config.run().log_interval_s;
  op.start_ns = options.start_ns;
  op.listen = addresses;
  op.admin_address = admin_address = "ipc://" + folder + "admin";
  op.actors = [this] { return Actors(); };
  if (!config.streams().empty()) op.streams = [this] { return Streams(); };
  op.settings = [this] { return live->settings(); };
  op.set = [this](const std::string& assignment) { return live->Set(assignment); };
  op.on_end = [this](RunEnd end) { signals->Request(end); };
  op.log = log;
  auto made_operate = Operate::Open(context, std::move(op));
  if (!made_operate.ok()) return made_operate.status();
  operate = std::move(*made_operate);
  return {};
}

/// Where it listens: a run that goes on where it was, so that its actors find it.
Result<std::vector<std::string>> Daemon::State::Listen(const std::string& folder) {
  std::vector<std::string> listen = config.server().listen;
  const bool again =
      options.plan && !options.own_actors && options.plan->record.listen.size() == listen.size();
  for (std::size_t i = 0; i < listen.size(); ++i) {
    const bool chosen = listen[i] == "ipc" || listen[i].ends_with(":*");
    if (chosen && again) {
      listen[i] = options.plan->record.listen[i];
    } else if (listen[i] == "ipc") {
      listen[i] = "ipc://" + folder + "main";
    }
    if (!chosen || !listen[i].starts_with("ipc://")) continue;
    const fs::path place = fs::path(listen[i].substr(6)).parent_path();
    std::error_code error;
    if (fs::exists(place, error)) continue;
    if (!fs::create_directories(place, error))
      return ResourceError(place.string() + ": cannot be made (" + error.message() +
                           "), and actors know the run there; set server.listen to another one");
    fs::permissions(place, fs::perms::owner_all, error);
    borrowed_folder = place.string();
  }
  return listen;
}

Status Daemon::State::WriteFiles() const {
  auto commands = options.when_taken == RunDirectory::WhenTaken::kGoOn
                      ? ReadFile(directory.path() + "/command.txt", 1 << 20)
                      : Result<std::string>(std::string());
  const std::string earlier = commands.ok() ? *commands : "";
  MURMURATE_RETURN_IF_ERROR(directory.Write("config.toml", config.Resolved()));
  MURMURATE_RETURN_IF_ERROR(directory.Write("command.txt", earlier + options.command + '\n'));
  MURMURATE_RETURN_IF_ERROR(directory.Write("version.json", VersionJson()));
  const nlohmann::json address{{"pid", getpid()},
                               {"incarnation", std::to_string(incarnation)},
                               {"listen", addresses},
                               {"announce", publishing->announce_address()},
                               {"weights", publishing->weights_address()},
                               {"admin", admin_address}};
  MURMURATE_RETURN_IF_ERROR(directory.Write("address.json", address.dump(2) + '\n'));
  return WriteRecord();
}

Status Daemon::State::WriteRecord() const {
  RunRecord record{{}, addresses, options.own_actors};
  for (const auto& model : models) record.models.push_back(model->name);
  return directory.Write("resume.json", record.ToJson());
}

void Daemon::State::StartLoops() {
  publish_loop = std::make_unique<Loop>(
      "mmr-publish", [this] { publishing->PollOnce(kLongestWaitMs); },
      [this] { publishing->Wake(); });
  checkpoint_loop = std::make_unique<Loop>(
      "mmr-checkpoint", [this] { operate->writer().PollOnce(kLongestWaitMs); },
      [this] { operate->writer().Wake(); });
  operate_loop = std::make_unique<Loop>(
      "mmr-operate", [this] { operate->PollOnce(kLongestWaitMs); }, [this] { operate->Wake(); });
  ingest_loop = std::make_unique<Loop>(
      "mmr-ingest", [this] { ingest->PollOnce(kLongestWaitMs); }, [this] { ingest->Wake(); });
}

ActorsView Daemon::State::Actors() const {
  Ingest::Report report = ingest->TakeReport();
  for (std::string& sentence : shard_waits.Sentences())
    report.waiting.push_back(std::move(sentence));
  return {.actors = std::move(report.actors),
          .refused = std::move(report.refused_actors),
          .refusals = report.refusals,
          .duplicates = report.duplicates,
          .messages = report.messages,
          .bytes = report.bytes,
          .waiting = std::move(report.waiting),
          .lost_trajectories = report.lost_trajectories};
}

/// In lock-step all of the last batch comes in and is trained on, so that the run can go on exactly
/// where it is.
void Daemon::State::FinishRound() {
  ingest->StopGranting();
  const std::int64_t deadline_ns = MonotonicNs() + kLastBatchNs;
  while (!ingest->AtBorder() && MonotonicNs() < deadline_ns)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (!ingest->AtBorder())
    log(LogLevel::kWarning,
        "the last lock-step batch did not come in time, so what resumes does not go on bit for "
        "bit");
}

void Daemon::State::SayGoodbye(const wire::Goaway& goaway,
                               const std::function<bool()>& actors_gone) {
  ingest->SayGoaway(goaway);
  const std::int64_t deadline = MonotonicNs() + kGoodbyeNs;
  do {
    ingest->PollOnce(5);
  } while (!actors_gone() && MonotonicNs() < deadline);
}

Daemon::Daemon(std::unique_ptr<State> state) : state_(std::move(state)) {}

Daemon::~Daemon() {
  if (!state_->stopped && state_->ingest_loop) (void)Stop("the learner stops", [] { return true; });
}

Result<std::unique_ptr<Daemon>> Daemon::Start(const Config& config, DaemonOptions options,
                                              Signals* signals) {
  if (options.plan) options.when_taken = RunDirectory::WhenTaken::kGoOn;
  auto directory = RunDirectory::Open(config.run().dir, config.run().name, options.when_taken);
  if (!directory.ok()) return directory.status();
  if (options.job && options.job->rank() == 0)  // which the others wait for
    MURMURATE_RETURN_IF_ERROR(BroadcastText(options.job->collective(), directory->path()).status());
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
  for (const auto& actor : state_->ingest->TakeReport().actors) left += actor.live();
  return left;
}

void Daemon::Print(const std::string& line) { state_->display.Print(line, stdout); }

Daemon::Outcome Daemon::Stop(const std::string& reason, const std::function<bool()>& actors_gone,
                             bool resume_follows) {
  State& state = *state_;
  state.stopped = true;
  state.FinishRound();
  state.ingest_loop.reset();
  state.make_loop.reset();  // what it has made until here, SayGoodbye's rounds take
  state.AskLearningToEnd();
  const std::int64_t deadline_ns = MonotonicNs() + kLastBatchNs;
  state.SayGoodbye({reason, resume_follows ? kComesBackMs : kGoodbyeMs, resume_follows},
                   actors_gone);
  state.EndLearning(deadline_ns);
  if (state.options.job) state.options.job->AskToStop();
  for (const auto& model : state.models)
    if (model->recording)
      state.log(LogLevel::kInfo, "model " + model->name + ": " + model->recording->Finish());
  state.operate_loop.reset();
  state.publish_loop.reset();
  for (const auto& model : state.models)
    if (model->evaluating) model->evaluating->Finish(!state.operate->ended_by_itself());
  for (const auto& model : state.models)
    state.PostCheckpoint(model.get());  // with what they scored
  state.operate->Finish();
  const Progress& progress = state.operate->progress();
  const std::int64_t last_ns = progress.last_ns();
  Outcome outcome{{progress.learned_steps(), progress.steps()},
                  progress.elapsed_s(last_ns > 0 ? last_ns : MonotonicNs()),
                  progress.mean_return(),
                  progress.evaluation(),
                  state.WriteLastCheckpoints()};
  outcome.learner_wait = progress.values().Number(kLearnerWait).value_or(0);
  outcome.actor_wait = progress.values().Number(kActorWait);
  outcome.scores = ScoresText(progress.Latest(MonotonicNs()));
  outcome.streams = state.Streams();
  outcome.unreached = state.shard_waits.Unreached();
  state.log(LogLevel::kInfo, "stopped: " + reason);
  if (Status there = state.directory.StillThere(); !there.ok())
    state.signals->RequestFailure(std::move(there));
  state.LeaveBusyModels();
  std::error_code error;
  if (!state.borrowed_folder.empty()) fs::remove(state.borrowed_folder, error);
  return outcome;
}

void Daemon::LeaveShards() {
  MURMURATE_CHECK(state_->stopped, "nobody learns any more");
  state_->models.clear();
}

bool Daemon::left_a_thread() { return State::thread_left; }

}  // namespace murmurate
