#include "server/operate/operate.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "server/metrics/actor_metrics.h"
#include "server/operate/learning_curve.h"
#include "server/operate/status_readings.h"
#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "shared/model/safetensors.h"

namespace murmurate {
namespace {

constexpr std::int64_t kCurveIntervalNs = 10 * kNanosecondsPerSecond;
constexpr std::string_view kSet = "set ";

bool IsStream(const ModelRecord& model, const std::vector<Reading>& streams) {
  return std::ranges::find(streams, model.name(), &Reading::name) != streams.end();
}

/// `first`: of the run; `alone`: the run has one model.
void DrawCurve(const OperateOptions& options, const std::vector<Reading>& streams,
               const ModelRecord& model, bool first, bool alone) {
  const bool stream = IsStream(model, streams);
  CurveDrawing drawing = stream ? StreamDrawing() : CurveDrawing();
  drawing.title = stream ? options.directory->name() + ": stream " + model.name() : options.title;
  if (!stream && !alone) drawing.title += ", model " + model.name();
  if (!stream && first) drawing.target = options.stop.at_return;
  const std::string svg = DrawLearningCurves(drawing, model.Curves(stream));
  const std::string folder = model.folder() + "/plots";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  Status status = WriteFileAtomically(folder + "/learning.svg",
                                      std::as_bytes(std::span(svg.data(), svg.size())));
  if (!status.ok() && options.log) options.log(LogLevel::kError, status.message());
}

/// The model's reading with the health of its checkpoints.
Reading Live(const CheckpointWriter& writer, ModelRecord& model, std::int64_t now_ns) {
  Reading reading = model.Live(now_ns);
  const CheckpointHealth health = writer.Health(model.folder());
  reading.Set(kCheckpointsWritten, health.written);
  reading.Set(kCheckpointFailures, health.failures);
  reading.Set(kCheckpointStep, health.last_step);
  reading.Set(kCheckpointTrouble, health.trouble);
  reading.Set(kBestFailures, health.best_failures);
  reading.Set(kBestTrouble, health.best_trouble);
  return reading;
}

std::int64_t SnapshotDueNs(const SnapshotBoard* board) {
  return board != nullptr ? board->due_ns() : INT64_MAX;
}

/// `models`: those of the report, or more. `pause`: null: the run cannot be paused.
std::shared_ptr<const RunSnapshot> SnapshotOf(
    StatusReport report, const std::vector<std::unique_ptr<ModelRecord>>& models,
    const LearningPause* pause) {
  auto snapshot = std::make_shared<RunSnapshot>();
  snapshot->at_ns = MonotonicNs();
  snapshot->readings = StatusReadings(report);
  std::vector<ActorReport>& actors = report.actors.actors;
  snapshot->live_actors = static_cast<int>(std::ranges::count_if(actors, &ActorReport::live));
  if (actors.size() > RunSnapshot::kMostActors) {
    report.left_out_actors = actors.size() - RunSnapshot::kMostActors;
    std::ranges::stable_partition(actors, &ActorReport::live);
    actors.resize(RunSnapshot::kMostActors);
  }
  snapshot->status = report.ToJson(-1);
  snapshot->paused = report.paused.has_value();
  snapshot->unpaused_ns = pause ? pause->last_end_ns() : 0;
  for (std::size_t i = 0; i < report.models.size(); ++i)
    snapshot->batches.emplace_back(models[i]->name(), models[i]->progress().last_ns());
  return snapshot;
}

/// What the first model has left to do, and how long that may take.
void AddGoals(const StopRules& stop, bool ended, Progress& progress, std::int64_t now_ns,
              Reading* first_model) {
  std::optional<std::uint64_t> budget = stop.budget;
  if (const auto at = stop.at_steps) budget = std::min(*at, budget.value_or(*at));
  first_model->Set(kBudget, budget);
  first_model->Set(kTargetReturn, stop.at_return);
  const double rate = progress.learned_per_second(now_ns);
  if (!ended && budget && rate > 0 && *budget > progress.learned_steps())
    first_model->Set(kEta, static_cast<double>(*budget - progress.learned_steps()) / rate);
}

}  // namespace

Operate::Operate(OperateOptions options)
    : options_(std::move(options)),
      writer_(options_.retention, options_.log, options_.on_tried),
      ending_(options_.stop, options_.on_end),
      rows_(options_.start_ns, options_.log_interval_s),
      next_show_ns_(options_.start_ns),
      next_curve_ns_(options_.start_ns + kCurveIntervalNs) {
  if (options_.display->mode() != Display::Mode::kTable)
    next_show_ns_ += options_.display->interval_ns(options_.log_interval_s);
}

Result<std::unique_ptr<Operate>> Operate::Open(SocketContext& context, OperateOptions options) {
  std::unique_ptr<Operate> operate(new Operate(std::move(options)));
  auto admin =
      AdminServer::Open(context, operate->options_.admin_address,
                        [self = operate.get()](const std::string& c) { return self->AnswerTo(c); });
  if (!admin.ok()) return admin.status();
  operate->admin_.emplace(std::move(*admin));
  for (const ResumedProgress& resumed : operate->options_.resumed)
    MURMURATE_RETURN_IF_ERROR(operate->AddModel(resumed.model, &resumed));
  operate->named_ = !operate->models_.empty();
  if (!operate->named_) MURMURATE_RETURN_IF_ERROR(operate->AddModel("default"));
  return operate;
}

Status Operate::AddModel(const std::string& name, const ResumedProgress* resumed) {
  std::string folder = options_.directory->path();
  if (!models_.empty()) {
    auto own = options_.directory->ModelFolder(name);
    if (!own.ok()) return own.status();
    folder = *own;
  }
  auto model = ModelRecord::Open(name, std::move(folder), options_.start_ns, resumed,
                                 {options_.sinks, &options_.description}, options_.log);
  if (!model.ok()) return model.status();
  models_.push_back(std::move(*model));
  return {};
}

ModelRecord* Operate::Find(const std::string& name) {
  if (!std::exchange(named_, true)) models_.front()->set_name(name);
  for (const auto& model : models_)
    if (model->name() == name) return model.get();
  if (Status status = AddModel(name); !status.ok()) {
    if (options_.log) options_.log(LogLevel::kError, status.message());
    return nullptr;
  }
  return models_.back().get();
}

void Operate::PostModel(const std::string& model) {
  mail_.Post([this, model] { (void)Find(model); });
}

void Operate::Post(TrainingUpdate update) {
  mail_.Post([this, update = std::move(update)] { ApplyUpdate(update); });
}

void Operate::PostReports(const std::string& model, std::span<const wire::ReportedNumber> numbers,
                          bool evaluated) {
  std::vector<wire::ReportedNumber> copy(numbers.begin(), numbers.end());
  for (wire::ReportedNumber& number : copy)
    if (evaluated) number.name.insert(0, "eval/");
  mail_.PostMinor(
      [this, model, copy = std::move(copy)] {
        ModelRecord* const record = Find(model);
        for (const wire::ReportedNumber& number : copy)
          if (record != nullptr) record->AddReport(number);
        rows_.OnNews();
      },
      numbers.size());
}

void Operate::PostEvaluation(const std::string& model, const Evaluation& evaluation) {
  mail_.Post([this, model, evaluation] { ApplyEvaluation(model, evaluation); });
}

void Operate::PostEvaluated(const std::string& model, std::span<const EpisodeRecord> episodes) {
  mail_.PostMinor(
      [this, model, copy = std::vector<EpisodeRecord>(episodes.begin(), episodes.end())] {
        ModelRecord* const record = Find(model);
        for (const EpisodeRecord& episode : copy)
          if (record != nullptr) record->AddEvaluated(episode);
        rows_.OnNews();
      },
      episodes.size());
}

void Operate::PostCheckpoint(const std::string& model, CheckpointWriter::Make make) {
  mail_.Post(
      [this, model, make = std::move(make)]() mutable { SaveCheckpoint(model, std::move(make)); });
}

void Operate::PostBest(const std::string& model, EvaluatedReturn evaluated,
                       CheckpointWriter::Make make) {
  mail_.Post([this, model, evaluated = std::move(evaluated), make = std::move(make)]() mutable {
    if (const ModelRecord* record = Find(model))
      writer_.PostBest(record->folder(), std::move(evaluated), std::move(make));
  });
}

void Operate::PostStopRules(std::optional<double> at_return,
                            std::optional<std::uint64_t> at_steps) {
  mail_.Post([this, at_return, at_steps] {
    options_.stop.at_return = at_return;
    options_.stop.at_steps = at_steps;
    ending_.SetRules(options_.stop);
    ending_.Check(progress());
  });
}

void Operate::SaveCheckpoint(const std::string& model, CheckpointWriter::Make make) {
  const ModelRecord* record = Find(model);
  if (record == nullptr) return;
  SavedState progress;
  record->progress().Save(MonotonicNs(), StateWriter(&progress, "progress"));
  writer_.Post(record->folder(),
               [mean = record->progress().means().mean_return(), make = std::move(make),
                progress = std::move(progress)]() mutable {
                 Checkpoint checkpoint = make();
                 checkpoint.mean_return = mean;
                 if (checkpoint.state.words.empty()) return checkpoint;  // weights only
                 checkpoint.state.doubles.merge(progress.doubles);
                 checkpoint.state.words.merge(progress.words);
                 return checkpoint;
               });
}

void Operate::PollOnce(int timeout_ms) {
  Socket* const sockets[] = {admin_->socket()};
  const std::int64_t due_ns =
      std::min({rows_.due_ns(), next_show_ns_, SnapshotDueNs(options_.board)}) - MonotonicNs();
  Poller(mail_.wake())
      .Wait(sockets,
            static_cast<int>(std::clamp<std::int64_t>(due_ns / 1'000'000 + 1, 0, timeout_ms)));
  ReadMail();
  admin_->PollOnce();
  const std::int64_t now_ns = MonotonicNs();
  if (now_ns >= rows_.due_ns()) WriteRows(now_ns);
  if (now_ns >= next_show_ns_) Show(now_ns);
  if (now_ns >= SnapshotDueNs(options_.board))
    options_.board->Publish(SnapshotOf(Report(), models_, options_.pause));
}

void Operate::ReadMail() {
  // guard: Operate.ACheckpointHoldsTheProgressOfTheUpdatesBeforeItAndNotOfThoseAfter: letters are
  //   read in the order in which they were posted, so a checkpoint has the progress before it
  for (const Mailbox::Letter& letter : mail_.Empty()) letter();
}

void Operate::ApplyUpdate(const TrainingUpdate& update) {
  rows_.OnNews();
  ModelRecord* const model = Find(update.model);
  if (model == nullptr) return;
  const bool first = model == models_.front().get();
  // A run that its rules have ended keeps the first model's numbers as they were then.
  Progress& progress = first && ending_.by_rules() ? model->beyond() : model->progress();
  progress.Apply(update);
  if (options_.on_update) options_.on_update(update, progress);
  if (first) ending_.Check(model->progress());
}

/// Applies an evaluation; each of the learner's own gets a row, because they are few and far apart.
void Operate::ApplyEvaluation(const std::string& model, const Evaluation& evaluation) {
  const bool alone = evaluation.by == EvaluatedBy::kLearner;
  if (alone && rows_.asked()) WriteRows(MonotonicNs());
  if (ModelRecord* record = Find(model)) {
    record->ApplyEvaluation(evaluation);
    if (record == models_.front().get()) ending_.Check(record->progress());
  }
  alone ? rows_.Ask() : rows_.OnNews();
}

void Operate::WriteRows(std::int64_t now_ns) {
  const std::vector<MetricSample> actors = StalenessSamples(options_.actors().counted());
  for (const auto& model : models_) {
    const bool first = model == models_.front();
    Status status = model->WriteRow(now_ns, first ? actors : std::vector<MetricSample>());
    if (!status.ok() && options_.log) options_.log(LogLevel::kError, status.message());
    if (now_ns >= next_curve_ns_)
      DrawCurve(options_, Streams(), *model, model == models_.front(), models_.size() == 1);
  }
  if (now_ns >= next_curve_ns_) next_curve_ns_ = now_ns + kCurveIntervalNs;
  rows_.OnRow(now_ns);
}

std::vector<Reading> Operate::Streams() const {
  return options_.streams ? options_.streams() : std::vector<Reading>();
}

/// Adds what ends the run, and when that will be at the present rate.
ScreenView Operate::View(std::int64_t now_ns) {
  ScreenView view{.run = options_.directory->path(),
                  .model = Live(writer_, *models_.front(), now_ns)};
  AddGoals(options_.stop, ending_.ended(), models_.front()->progress(), now_ns, &view.model);
  int live = 0, agents = 0;
  const ActorsView actors = options_.actors();
  for (const ActorReport& actor : actors.actors) {
    if (!actor.live()) continue;
    ++live;
    agents += actor.agents;
  }
  view.model.Set(kActors, live);
  view.model.Set(kAgents, agents);
  const auto paused = options_.pause ? options_.pause->Report() : std::nullopt;
  if (paused)
    view.model.Set(kWaits, paused->Sentence());
  else if (!actors.waiting.empty())
    view.model.Set(kWaits, actors.waiting.front());
  if (options_.settings) view.settings = options_.settings();
  view.streams = Streams();
  view.only_streams = !view.streams.empty() && std::ranges::all_of(models_, [&](const auto& model) {
    return IsStream(*model, view.streams);
  });
  return view;
}

void Operate::Show(std::int64_t now_ns) {
  next_show_ns_ = now_ns + options_.display->interval_ns(options_.log_interval_s);
  if (options_.display->mode() == Display::Mode::kQuiet) return void(next_show_ns_ = INT64_MAX);
  options_.display->Show(View(now_ns));
}

wire::AdminOk Operate::AnswerTo(const std::string& command) {
  if (command == "status") return {true, Report().ToJson()};
  if (command.starts_with(kSet) && options_.set) {
    const auto answer = options_.set(command.substr(kSet.size()));
    return {answer.ok(), answer.ok() ? *answer : answer.status().message()};
  }
  if (command == "checkpoint" && options_.checkpoint) {
    options_.checkpoint();
    return {true,
            "a checkpoint of each model follows, after the batch under way or the next one; of a "
            "paused run at once"};
  }
  if (const auto answer = options_.pause ? options_.pause->AnswerTo(command) : std::nullopt)
    return {answer->ok(), answer->ok() ? **answer : answer->status().message()};
  const bool resume_follows = command == "stop to resume";
  if (command != "stop" && !resume_follows)
    return {false, "unknown question \"" + command +
                       "\": expected status, checkpoint, stop, pause by NAME, unpause by NAME or "
                       "set NAME=VALUE"};
  ending_.Ask(resume_follows ? RunEnd::kAskedToResume : RunEnd::kAsked);
  return {true, "stopping " + options_.directory->path()};
}

StatusReport Operate::Report() {
  const std::int64_t now_ns = MonotonicNs();
  std::error_code error;
  StatusReport report{
      .run = options_.directory->name(),
      .directory = std::filesystem::absolute(options_.directory->path(), error).string(),
      .pid = getpid(),
      .uptime_s = static_cast<double>(now_ns - options_.start_ns) * 1e-9,
      .listen = options_.listen,
      .models = {},
      .settings = {},
      .actors = options_.actors(),
      .streams = Streams()};
  if (options_.settings) report.settings = options_.settings();
  if (options_.hooks) report.hooks = options_.hooks();
  if (options_.pause) report.paused = options_.pause->Report();
  for (const auto& model : models_)
    if (named_) report.models.push_back(Live(writer_, *model, now_ns));
  if (named_)
    AddGoals(options_.stop, ending_.ended(), models_.front()->progress(), now_ns,
             &report.models.front());
  return report;
}

void Operate::Finish() {
  ReadMail();
  const std::int64_t now_ns = MonotonicNs();
  next_curve_ns_ = 0;
  WriteRows(now_ns);
  if (options_.display->mode() == Display::Mode::kTable) Show(now_ns);
  options_.display->Release();
}

}  // namespace murmurate
