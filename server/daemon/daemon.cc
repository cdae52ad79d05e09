#include "server/daemon/daemon.h"

#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>

#include "server/config/algorithm_defaults.h"
#include "server/config/config_text.h"
#include "server/config/run_description.h"
#include "server/daemon/daemon_state.h"
#include "server/daemon/descriptors.h"
#include "server/daemon/stop_rules_of.h"
#include "server/daemon/taken_port.h"
#include "server/daemon/version.h"
#include "server/operate/log_settings.h"
#include "server/operate/operate_settings.h"
#include "server/parameters/parameters_settings.h"
#include "server/schema/settings_keys.h"
#include "shared/core/check.h"
#include "shared/model/safetensors.h"
#include "shared/weights/shared_memory_weights.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;
constexpr std::int64_t kGoodbyeNs = kNanosecondsPerSecond;
constexpr std::uint32_t kGoodbyeMs = 2000;
constexpr std::uint32_t kComesBackMs = 60'000;  ///< how long lock-step actors wait for a resume
constexpr std::int64_t kLastBatchNs = 3 * kNanosecondsPerSecond;

std::string WholeReason(const std::string& reason, const RunEnding& ending) {
  return ending.why().empty() ? reason : reason + ": " + ending.why();
}

/// Why learning of this job of ranks cannot be paused; "": it can.
std::string WhyNoPause(const CollectiveJob* job) {
  if (job == nullptr || job->size() == 1) return "";
  return "learning of " + std::to_string(job->size()) +
         " ranks cannot be paused, because each waits for the others in every batch; stop the run "
         "and go on by `murmurate resume`";
}

}  // namespace

Status Daemon::State::Open() {
  auto opened = Log::Open(parts.directory.path(), parts.directory.name(),
                          parts.config.Read(LogKeys()), &display, parts.options.console);
  if (!opened.ok()) return opened.status();
  parts.log_file = *std::move(opened);
  parts.log = parts.log_file->callback();
  parts.pause = std::make_unique<LearningPause>(
      parts.log, WhyNoPause(parts.options.job.get()),
      parts.config.parameters().shared() ? "other learners of its model go on" : "");
  parts.places->KeepAlgorithmsIn(parts.directory.path(), parts.log);
  MURMURATE_RETURN_IF_ERROR(RaiseFileLimit());
  if (!parts.options.source && !parts.options.own_actors)
    parts.log(LogLevel::kInfo, DescriptorsInWords());
  if (const int swept = SweepDeadWeightSegments(); swept > 0)
    parts.log(LogLevel::kInfo,
              "removed " + std::to_string(swept) + " shared-memory segments of dead learners");
  auto folder = RuntimeFolder();
  if (!folder.ok()) return folder.status();
  disk.emplace(parts.directory.path(), parts.config.run().max_disk.value_or(DiskBudget::kUnbounded),
               parts.log);
  MURMURATE_RETURN_IF_ERROR(OpenSockets(*folder));
  StartReloading();
  MURMURATE_RETURN_IF_ERROR(StartHooks(&parts, &models));
  MURMURATE_RETURN_IF_ERROR(Resume());
  MURMURATE_RETURN_IF_ERROR(WriteFiles());
  StartLoops();
  if (parts.options.source && models.all().empty())
    MURMURATE_RETURN_IF_ERROR(factory.Make("default", parts.options.source->spaces()).status());
  MURMURATE_RETURN_IF_ERROR(factory.MakeStreams());
  for (std::size_t i = 0; i < models.all().size(); ++i)
    models.all()[i]->source().Start(static_cast<int>(i));
  // From here on this thread makes no models; a HELLO that came earlier waits.
  make_loop = std::make_unique<Loop>(
      "mmr-make", [this] { parts.ingest->MakeModels(60'000); },
      [this] { parts.ingest->StopMaking(); });
  return {};
}

Status Daemon::State::OpenIngestAndPublishing(const IngestOptions& in) {
  parts.ingest.reset();  // frees the ports of another attempt
  auto made_ingest =
      Ingest::Open(parts.context, in, [this](const std::string& name, const Spaces& spaces) {
        return factory.Offer(name, spaces);
      });
  if (!made_ingest.ok()) return made_ingest.status();
  parts.ingest = std::move(*made_ingest);
  parts.addresses = parts.ingest->addresses();
  auto family = SisterAddresses(parts.addresses.front());
  if (!family.ok()) return family.status();
  auto made_publishing = Publishing::Open(
      parts.context,
      {family->announce, family->weights, parts.directory.name(), incarnation, in.shm, parts.log});
  if (!made_publishing.ok()) return made_publishing.status();
  parts.publishing = std::move(*made_publishing);
  return {};
}

Status Daemon::State::OpenSockets(const std::string& folder) {
  MURMURATE_RETURN_IF_ERROR(OpenIngest(folder));
  parts.live.emplace(
      parts.config.game_settings(),
      [this](const wire::Settings& settings) { parts.ingest->SetSettings(settings); }, parts.log);
  MakeBoard();
  MURMURATE_RETURN_IF_ERROR(OpenOperate(folder));
  return OpenPage();
}

Status Daemon::State::OpenIngest(const std::string& folder) {
  IngestOptions in;
  auto listen = Listen(folder);
  if (!listen.ok()) return listen.status();
  in.listen = std::move(*listen);
  in.incarnation = incarnation;
  in.resumed = parts.options.plan.has_value();
  in.seed = parts.config.run().seed;
  in.limits.ingest_budget_bytes = parts.config.server().ingest_budget_bytes;
  in.limits.max_actors = parts.config.server().max_actors;
  in.shm = parts.config.server().shm != "off";
  in.models_apart = true;
  in.on_reports = [this](const std::string& model, std::span<const wire::ReportedNumber> numbers,
                         bool evaluated) { parts.operate->PostReports(model, numbers, evaluated); };
  in.on_evaluated = [this](const std::string& model, std::span<const EpisodeRecord> episodes) {
    parts.operate->PostEvaluated(model, episodes);
  };
  in.log = parts.log;
  Status opened = OpenIngestAndPublishing(in);
  // The system chose a port (tcp://HOST:*), and one of the two beside it is taken.
  for (int i = 0;
       i < 20 && opened.code() == StatusCode::kAlreadyRunning && in.listen.front().ends_with(":*");
       ++i) {
    opened = OpenIngestAndPublishing(in);
  }
  if (opened.code() == StatusCode::kAlreadyRunning)
    return WithPortHolder(std::move(opened), in.listen.front(), folder);
  return opened;
}

Status Daemon::State::OpenOperate(const std::string& folder) {
  OperateOptions op;
  op.title = parts.directory.name() + ": " + KindFor(parts.config.entries()).name;
  op.directory = &parts.directory;
  op.display = &display;
  if (!parts.config.run().follows()) op.stop = StopRulesOf(parts.config);
  op.retention = parts.config.checkpoint().retention;
  if (parts.options.plan)
    for (const ResumedModel& model : parts.options.plan->models)
      op.resumed.push_back(
          {model.name, &model.found.checkpoint.state, model.found.checkpoint.weights.steps});
  op.on_tried = [this](const std::string& at, const Status& written, Checkpoint& checkpoint) {
    models.OnTried(parts.directory.path(), at, written.ok(), &checkpoint);
  };
  op.log_interval_s = parts.config.run().log_interval_s;
  op.start_ns = parts.options.start_ns;
  op.listen = parts.addresses;
  op.admin_address = admin_address = "ipc://" + folder + "admin";
  op.actors = [this] { return Actors(); };
  if (!parts.config.streams().empty()) op.streams = [this] { return models.Streams(); };
  op.settings = [this] { return parts.live->settings(); };
  op.set = [this](const std::string& assignment) { return parts.live->Set(assignment); };
  op.checkpoint = [this] { models.AskForCheckpoints(); };
  op.pause = parts.pause.get();
  op.board = board.get();
  op.on_end = [this](RunEnd end) { parts.signals->Request(end); };
  TellOfHooks(&parts, &op);
  op.log = parts.log;
  op.sinks = MetricSinks(parts.config.Read(MetricsKeys()));
  op.description = DescribeRun(parts.config);
  auto made_operate = Operate::Open(parts.context, std::move(op));
  if (!made_operate.ok()) return made_operate.status();
  parts.operate = std::move(*made_operate);
  return {};
}

/// The addresses to listen at: a resumed run keeps those it had, so that its actors find it.
Result<std::vector<std::string>> Daemon::State::Listen(const std::string& folder) {
  std::vector<std::string> listen = parts.config.server().listen;
  const bool again = parts.options.plan && !parts.options.own_actors &&
                     parts.options.plan->record.listen.size() == listen.size();
  for (std::size_t i = 0; i < listen.size(); ++i) {
    const bool chosen = listen[i] == "ipc" || listen[i].ends_with(":*");
    if (chosen && again) {
      listen[i] = parts.options.plan->record.listen[i];
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
  auto commands = parts.options.when_taken == RunDirectory::WhenTaken::kGoOn
                      ? ReadFile(parts.directory.path() + "/command.txt", 1 << 20)
                      : Result<std::string>(std::string());
  const std::string earlier = commands.ok() ? *commands : "";
  MURMURATE_RETURN_IF_ERROR(parts.directory.Write("config.toml", ResolvedToml(parts.config)));
  MURMURATE_RETURN_IF_ERROR(
      parts.directory.Write("command.txt", earlier + parts.options.command + '\n'));
  MURMURATE_RETURN_IF_ERROR(parts.directory.Write("version.json", VersionJson()));
  nlohmann::json address{{"pid", getpid()},
                         {"incarnation", std::to_string(incarnation)},
                         {"listen", parts.addresses},
                         {"announce", parts.publishing->announce_address()},
                         {"weights", parts.publishing->weights_address()},
                         {"admin", admin_address}};
  if (page) address["page"] = page->url();
  MURMURATE_RETURN_IF_ERROR(parts.directory.Write("address.json", address.dump(2) + '\n'));
  return factory.WriteRecord();
}

/// The models of the run that goes on, before any actor comes.
Status Daemon::State::Resume() {
  if (!parts.options.plan) return {};
  const std::vector<ResumedModel>& resumed = parts.options.plan->models;
  for (const ResumedModel& model : resumed) MURMURATE_RETURN_IF_ERROR(factory.Resume(model));
  if (!resumed.empty())
    MURMURATE_RETURN_IF_ERROR(
        parts.live->Load(StateReader(resumed.front().found.checkpoint.state, "settings")));
  for (const auto& model : models.all()) model->StartThreads();
  parts.options.plan.reset();  // its checkpoints are large
  return {};
}

ActorsView Daemon::State::Actors() {
  Ingest::Report report = parts.ingest->CollectReport();
  for (std::string& sentence : parts.shard_waits.Sentences())
    report.waiting.push_back(std::move(sentence));
  for (std::string& sentence : models.Waiting()) report.waiting.push_back(std::move(sentence));
  return {.actors = std::move(report.actors),
          .forgotten = std::move(report.forgotten_actors),
          .refused = std::move(report.refused_actors),
          .refusals = report.refusals,
          .duplicates = report.duplicates,
          .messages = report.messages,
          .bytes = report.bytes,
          .waiting = std::move(report.waiting),
          .troubles = models.Troubles(),
          .lost_trajectories = report.lost_trajectories};
}

/// Waits in lock-step until all of the last batch has come in and is trained on, so that the run
/// can go on exactly where it is.
void Daemon::State::FinishRound() {
  if (parts.ingest->lockstep()) parts.pause->Lift();
  parts.ingest->StopGranting();
  const std::int64_t deadline_ns = MonotonicNs() + kLastBatchNs;
  while (!parts.ingest->AtBorder() && MonotonicNs() < deadline_ns)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (!parts.ingest->AtBorder())
    parts.log(
        LogLevel::kWarning,
        "the last lock-step batch did not come in time, so what resumes does not go on bit for "
        "bit");
}

void Daemon::State::SayGoodbye(const wire::Goaway& goaway,
                               const std::function<bool()>& actors_gone) {
  parts.ingest->SayGoaway(goaway);
  const std::int64_t deadline = MonotonicNs() + kGoodbyeNs;
  do {
    parts.ingest->PollOnce(5);
  } while (!actors_gone() && MonotonicNs() < deadline);
}

/// Writes them once Operate::Finish has passed on what was posted. Returns the first model's, or
/// "" when there is none.
std::string Daemon::State::WriteLastCheckpoints() {
  checkpoint_loop.reset();
  while (parts.operate->writer().PollOnce(0)) continue;
  const CheckpointHealth health = parts.operate->checkpoints();
  const bool written = health.last_step && health.trouble.empty();
  return written ? parts.directory.path() + "/checkpoints/latest" : "";
}

Daemon::Daemon(std::unique_ptr<State> state) : state_(std::move(state)) {}

Daemon::~Daemon() {
  if (!state_->stopped && state_->ingest_loop) (void)Stop("the learner stops", [] { return true; });
}

Result<std::unique_ptr<Daemon>> Daemon::Start(const Config& config, DaemonOptions options,
                                              Signals* signals) {
  if (options.plan) options.when_taken = RunDirectory::WhenTaken::kGoOn;
  auto places = std::make_unique<TrainingPlaces>(config, options.places);
  MURMURATE_RETURN_IF_ERROR(places->OpenNamed());
  auto directory = RunDirectory::Open(config.run().dir, config.run().name, options.when_taken);
  if (!directory.ok()) return directory.status();
  if (options.job && options.job->rank() == 0)  // which the others wait for
    MURMURATE_RETURN_IF_ERROR(BroadcastText(options.job->collective(), directory->path()).status());
  std::unique_ptr<Daemon> daemon(new Daemon(std::make_unique<State>(
      config, std::move(options), signals, std::move(*directory), std::move(places))));
  if (Status status = daemon->state_->Open(); !status.ok()) return status;
  daemon->state_->notice.Send("READY=1");
  return daemon;
}

const std::vector<std::string>& Daemon::addresses() const { return state_->parts.addresses; }
const std::string& Daemon::directory() const { return state_->parts.directory.path(); }
const LogCallback& Daemon::log() const { return state_->parts.log; }
std::string Daemon::page_url() const { return state_->page ? state_->page->control_url() : ""; }
int Daemon::actors_left() const {
  int left = 0;
  for (const auto& actor : state_->parts.ingest->CollectReport().actors) left += actor.live();
  return left;
}

void Daemon::Print(const std::string& line) { state_->display.Print(line, stdout); }

void Daemon::Reload(const Result<Config>& fresh) {
  state_->notice.Send("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(MonotonicNs() / 1000));
  state_->reloading->Apply(fresh);
  state_->notice.Send("READY=1");
}

Daemon::Outcome Daemon::Stop(const std::string& reason, const std::function<bool()>& actors_gone,
                             bool resume_follows) {
  State& state = *state_;
  state.stopped = true;
  state.notice.Send("STOPPING=1\nSTATUS=" + reason);
  state.FinishRound();
  state.make_loop.reset();
  state.ingest_loop.reset();
  state.parts.ingest->PollOnce(0);  // answers actors whose model was made, or refused, until here
  state.models.AskToEnd();
  const std::int64_t deadline_ns = MonotonicNs() + kLastBatchNs;
  state.SayGoodbye({reason, resume_follows ? kComesBackMs : kGoodbyeMs, resume_follows},
                   actors_gone);
  state.models.AwaitEnd(deadline_ns);
  if (state.parts.options.job) state.parts.options.job->AskToStop();
  for (const auto& model : state.models.all())
    if (model->recording() != nullptr)
      state.parts.log(LogLevel::kInfo,
                      "model " + model->name() + ": " + model->recording()->Finish());
  state.page_loop.reset();
  state.page.reset();
  state.operate_loop.reset();
  state.publish_loop.reset();
  for (const auto& model : state.models.all())  // their last weights
    model->evaluations().Finish(!state.parts.operate->ending().by_rules());
  for (const auto& model : state.models.all()) model->PostCheckpoint();  // with what they scored
  state.parts.operate->Finish();
  const Progress& progress = state.parts.operate->progress();
  const std::int64_t last_ns = progress.last_ns();
  Outcome outcome{{progress.learned_steps(), progress.steps()},
                  progress.elapsed_s(last_ns > 0 ? last_ns : MonotonicNs()),
                  progress.means().mean_return(),
                  progress.evaluation(),
                  state.WriteLastCheckpoints()};
  const std::string whole = WholeReason(reason, state.parts.operate->ending());
  if (state.parts.hooks) EndHooks(state.parts, whole);
  outcome.learner_wait = progress.values().Number(kLearnerWait).value_or(0);
  outcome.actor_wait = progress.values().Number(kActorWait);
  outcome.scores = ScoresText(progress.Latest(MonotonicNs()));
  outcome.streams = state.models.Streams();
  outcome.solved_at_last = state.parts.operate->ending().Solved(progress);
  outcome.unreached = state.parts.shard_waits.Unreached();
  state.parts.log(LogLevel::kInfo, "stopped: " + whole);
  if (Status there = state.parts.directory.StillThere(); !there.ok())
    state.parts.signals->RequestFailure(std::move(there));
  state.models.Abandon();
  std::error_code error;
  if (!state.borrowed_folder.empty()) fs::remove(state.borrowed_folder, error);
  return outcome;
}

void Daemon::LeaveShards() {
  MURMURATE_CHECK(state_->stopped, "the models still learn");
  state_->models.Clear();
}

bool Daemon::left_a_thread() { return LiveModels::left_a_thread() || Hooks::left_a_thread(); }

}  // namespace murmurate
