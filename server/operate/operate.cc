#include "server/operate/operate.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "server/operate/learning_curve.h"
#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "shared/model/safetensors.h"

namespace murmurate {
namespace {

constexpr std::int64_t kCurveIntervalNs = 10 * kNanosecondsPerSecond;
constexpr std::string_view kSet = "set ";
constexpr std::size_t kMaxReportsWaiting = 100'000;

}  // namespace

Operate::Operate(OperateOptions options)
    : options_(std::move(options)), writer_(options_.retention, options_.log, options_.on_tried) {
  next_row_ns_ = options_.start_ns + static_cast<std::int64_t>(options_.log_interval_s * 1e9);
  next_show_ns_ = options_.start_ns;
  next_curve_ns_ = options_.start_ns + kCurveIntervalNs;
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
    if (Status status = operate->AddModel(resumed.model, &resumed); !status.ok()) return status;
  operate->named_ = !operate->models_.empty();
  if (!operate->named_)
    if (Status status = operate->AddModel("default"); !status.ok()) return status;
  return operate;
}

Status Operate::AddModel(const std::string& name, const ResumedProgress* resumed) {
  auto model = std::make_unique<Model>();
  model->name = name;
  model->folder = options_.directory->path();
  if (!models_.empty()) {
    auto folder = options_.directory->ModelFolder(name);
    if (!folder.ok()) return folder.status();
    model->folder = *folder;
  }
  model->progress = std::make_unique<Progress>(options_.start_ns);
  if (resumed != nullptr)
    MURMURATE_RETURN_IF_ERROR(
        model->progress->Load(StateReader(*resumed->state, "progress"), resumed->number));
  const std::string rows = model->folder + "/progress.csv";
  auto file = resumed == nullptr ? ProgressFile::Create(rows)
                                 : ProgressFile::GoOn(rows, *model->progress, options_.log);
  if (!file.ok()) return file.status();
  model->file.emplace(std::move(*file));
  if (resumed != nullptr)
    for (const auto& [number, curve] :
         {std::pair{kStreamError, &model->error}, std::pair{kNaiveError, &model->naive}})
      if (const auto earlier = ReadReportedCurve(model->folder + "/reports.csv", number);
          earlier.ok())
        for (const CurvePoint& point : *earlier) curve->Add(point);
  models_.push_back(std::move(model));
  return {};
}

Operate::Model* Operate::Find(const std::string& name) {
  if (!named_) {
    named_ = true;
    models_.front()->name = name;
  }
  for (const auto& model : models_)
    if (model->name == name) return model.get();
  if (Status status = AddModel(name); !status.ok()) {
    if (options_.log) options_.log(LogLevel::kError, status.message());
    return nullptr;
  }
  return models_.back().get();
}

void Operate::Post(TrainingUpdate update) {
  {
    std::lock_guard lock(mutex_);
    mail_.push_back(std::move(update));
  }
  wake_.Set();
}

void Operate::PostReports(const std::string& model, std::span<const wire::ReportedNumber> numbers,
                          bool evaluated) {
  std::lock_guard lock(mutex_);
  if (reported_.size() > kMaxReportsWaiting)
    return;  // mmr-operate is stuck: numbers are not worth memory
  for (const wire::ReportedNumber& number : numbers) {
    reported_.emplace_back(model, number);
    if (evaluated) reported_.back().second.name.insert(0, "eval/");
  }
  if (reported_.size() >= kManyWaiting) wake_.Set();
}

void Operate::PostModel(const std::string& model) {
  std::lock_guard lock(mutex_);
  made_.push_back(model);
}

void Operate::PostEvaluation(const std::string& model, const Evaluation& evaluation) {
  {
    std::lock_guard lock(mutex_);
    evaluations_.emplace_back(model, evaluation);
  }
  wake_.Set();
}

void Operate::PostCheckpoint(const std::string& model, CheckpointWriter::Make make) {
  {
    std::lock_guard lock(mutex_);
    checkpoints_.push_back({model, std::move(make), mail_.size(), evaluations_.size()});
  }
  wake_.Set();
}

void Operate::PostBest(const std::string& model, EvaluatedReturn evaluated,
                       CheckpointWriter::Make make) {
  {
    std::lock_guard lock(mutex_);
    checkpoints_.push_back(
        {model, std::move(make), mail_.size(), evaluations_.size(), std::move(evaluated)});
  }
  wake_.Set();
}

void Operate::PostEvaluated(const std::string& model, std::span<const EpisodeRecord> episodes) {
  std::lock_guard lock(mutex_);
  if (evaluated_.size() > kMaxReportsWaiting) return;  // as in PostReports
  for (const EpisodeRecord& episode : episodes) evaluated_.emplace_back(model, episode);
  if (evaluated_.size() >= kManyWaiting) wake_.Set();
}

void Operate::PassOn(DueCheckpoint due) {
  const Model* model = Find(due.model);
  if (model == nullptr) return;
  if (due.evaluated)
    return writer_.PostBest(model->folder, std::move(*due.evaluated), std::move(due.make));
  SavedState progress;
  model->progress->Save(MonotonicNs(), StateWriter(&progress, "progress"));
  writer_.Post(model->folder, [mean = model->progress->mean_return(), make = std::move(due.make),
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
  const std::int64_t due_ns = std::min(RowDueNs(), next_show_ns_) - MonotonicNs();
  Poller(&wake_).Wait(
      sockets, static_cast<int>(std::clamp<std::int64_t>(due_ns / 1'000'000 + 1, 0, timeout_ms)));
  TakeMail();
  admin_->PollOnce();
  const std::int64_t now_ns = MonotonicNs();
  if (now_ns >= RowDueNs()) WriteRows(now_ns);
  if (now_ns >= next_show_ns_) Show(now_ns);
}

void Operate::TakeMail() {
  std::vector<std::string> made;
  std::vector<TrainingUpdate> mail;
  std::vector<std::pair<std::string, wire::ReportedNumber>> reported;
  std::vector<DueCheckpoint> checkpoints;
  std::vector<std::pair<std::string, Evaluation>> evaluations;
  std::vector<std::pair<std::string, EpisodeRecord>> evaluated;
  {
    std::lock_guard lock(mutex_);
    made.swap(made_);
    mail.swap(mail_);
    reported.swap(reported_);
    checkpoints.swap(checkpoints_);
    evaluations.swap(evaluations_);
    evaluated.swap(evaluated_);
  }
  news_ |= !mail.empty() || !reported.empty() || !evaluations.empty() || !evaluated.empty();
  for (const std::string& name : made) (void)Find(name);
  for (const auto& [name, number] : reported) TakeReport(name, number);
  std::span<const std::pair<std::string, Evaluation>> scored(evaluations);
  auto due = checkpoints.begin();
  for (std::size_t taken = 0; taken <= mail.size(); ++taken) {
    // guard: Operate.ACheckpointHoldsTheProgressOfTheUpdatesBeforeItAndNotOfThoseAfter: the
    //   progress in a checkpoint is that of the updates before it
    for (; due != checkpoints.end() && due->after == taken; ++due) {
      const std::size_t before = due->evaluations - (evaluations.size() - scored.size());
      TakeEvaluations(scored.first(before));
      scored = scored.subspan(before);
      PassOn(std::move(*due));
    }
    if (taken < mail.size()) TakeUpdate(mail[taken]);
  }
  for (const auto& [name, episode] : evaluated)
    if (Model* model = Find(name)) model->progress->TakeEvaluated({&episode, 1});
  TakeEvaluations(scored);
}

void Operate::TakeReport(const std::string& name, const wire::ReportedNumber& number) {
  Model* model = Find(name);
  if (model == nullptr) return;
  model->reports.Take({&number, 1});
  Curve* const curve = number.name == kStreamError  ? &model->error
                       : number.name == kNaiveError ? &model->naive
                                                    : nullptr;
  if (curve != nullptr && number.count > 0)
    curve->Add({model->progress->steps(), number.sum / number.count});
}

void Operate::TakeUpdate(const TrainingUpdate& update) {
  Model* model = Find(update.model);
  if (model == nullptr) return;
  const bool first = model == models_.front().get();
  if (!first || !frozen_) model->progress->Take(update);
  if (first) CheckStop(*model->progress);
}

/// The learner's own get a row each, because they are few and far apart.
void Operate::TakeEvaluations(std::span<const std::pair<std::string, Evaluation>> evaluations) {
  for (const auto& [name, evaluation] : evaluations) {
    if (next_row_ns_ == 0) WriteRows(MonotonicNs());
    if (Model* model = Find(name)) model->progress->TakeEvaluation(evaluation);
    next_row_ns_ = 0;
    news_ = true;
  }
}

void Operate::CheckStop(const Progress& progress) {
  if (ended_) return;
  const std::optional<RunEnd> end = EndOf(options_.stop, progress);
  if (!end) return;
  ended_ = frozen_ = true;
  options_.on_end(*end);
}

void Operate::WriteRows(std::int64_t now_ns) {
  for (const auto& model : models_) {
    Status status = model->file->Append(ProgressFile::Row(*model->progress, now_ns));
    if (status.ok()) status = model->reports.Write(model->folder, model->progress->steps());
    if (!status.ok() && options_.log) options_.log(LogLevel::kError, status.message());
    if (now_ns >= next_curve_ns_) DrawCurve(*model);
  }
  if (now_ns >= next_curve_ns_) next_curve_ns_ = now_ns + kCurveIntervalNs;
  next_row_ns_ = now_ns + static_cast<std::int64_t>(options_.log_interval_s * 1e9);
  quiet_row_ns_ = std::max(next_row_ns_, now_ns + kQuietRowNs);
  news_ = false;
}

bool Operate::IsStream(const Model& model, const std::vector<StreamView>& streams) const {
  return std::ranges::find(streams, model.name, &StreamView::name) != streams.end();
}

void Operate::WritePicture(const Model& model, const std::string& svg) const {
  const std::string folder = model.folder + "/plots";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  Status status = WriteFileAtomically(folder + "/learning.svg",
                                      std::as_bytes(std::span(svg.data(), svg.size())));
  if (!status.ok() && options_.log) options_.log(LogLevel::kError, status.message());
}

void Operate::DrawStream(const Model& model) const {
  CurveDrawing drawing = StreamDrawing();
  drawing.title = options_.directory->name() + ": stream " + model.name;
  const std::vector<CurveSeries> lines{{kStreamCurve, {model.error.points()}},
                                       {kNaiveCurve, {model.naive.points()}}};
  WritePicture(model, DrawLearningCurves(drawing, lines));
}

void Operate::DrawCurve(const Model& model) {
  if (options_.streams && IsStream(model, options_.streams())) return DrawStream(model);
  CurveDrawing drawing;
  drawing.title = options_.title;
  if (models_.size() > 1) drawing.title += ", model " + model.name;
  if (&model == models_.front().get()) drawing.target = options_.stop.at_return;
  std::vector<CurveSeries> lines{{"", {model.progress->curve().points()}}};
  if (const auto& scores = model.progress->evaluation_curve().points(); !scores.empty()) {
    lines[0].name = "training";
    lines.push_back({"evaluation", {scores}});
  }
  WritePicture(model, DrawLearningCurves(drawing, lines));
}

void Operate::ShowStreams(const std::vector<StreamView>& streams, ProgressView* view) const {
  for (const StreamView& stream : streams)
    view->streams.push_back({stream.name, stream.up, stream.down_s, stream.messages, stream.devices,
                             stream.learned, stream.messages_per_s, stream.error,
                             stream.baseline_error, stream.skill()});
  view->only_streams = !streams.empty() && std::ranges::all_of(models_, [&](const auto& model) {
    return IsStream(*model, streams);
  });
}

void Operate::Show(std::int64_t now_ns) {
  next_show_ns_ = now_ns + options_.display->interval_ns(options_.log_interval_s);
  if (options_.display->mode() == Display::Mode::kQuiet) return void(next_show_ns_ = INT64_MAX);
  Progress& progress = *models_.front()->progress;
  ProgressView view;
  view.run = options_.directory->path();
  view.steps = progress.steps();
  view.learned_steps = progress.learned_steps();
  view.budget = options_.stop.budget;
  view.mean_return = progress.mean_return();
  view.target = options_.stop.at_return;
  if (const auto& evaluation = progress.evaluation()) view.evaluation = evaluation->mean_return;
  view.success_rate = progress.success_rate();
  view.scores = progress.ScoreList();
  view.reports = models_.front()->reports.Means();
  if (options_.settings) view.settings = options_.settings();
  view.episodes = progress.episodes();
  view.updates = progress.last().updates;
  view.version = progress.last().version;
  view.dropped_steps = progress.last().dropped_steps;
  view.steps_per_second = progress.steps_per_second(now_ns);
  view.staleness = progress.last().staleness_mean;
  view.elapsed_s = progress.elapsed_s(now_ns);
  view.checkpoints = checkpoints();
  const double rate = progress.learned_per_second(now_ns);
  if (!ended_ && view.budget && rate > 0 && *view.budget > view.learned_steps)
    view.eta_s = static_cast<double>(*view.budget - view.learned_steps) / rate;
  if (options_.streams) ShowStreams(options_.streams(), &view);
  const ActorsView actors = options_.actors();
  for (const auto& actor : actors.actors) {
    if (actor.health != wire::ServerSession::ActorReport::Health::kLive) continue;
    ++view.actors;
    view.agents += actor.agents;
  }
  if (!actors.waiting.empty()) view.waiting = actors.waiting.front();
  options_.display->Show(view);
}

wire::AdminOk Operate::AnswerTo(const std::string& command) {
  if (command == "status") return {true, Report().ToJson()};
  if (command.starts_with(kSet) && options_.set) {
    const auto answer = options_.set(command.substr(kSet.size()));
    return {answer.ok(), answer.ok() ? *answer : answer.status().message()};
  }
  const bool resume_follows = command == "stop to resume";
  if (command != "stop" && !resume_follows)
    return {false, "unknown question \"" + command + "\": expected status, stop or set NAME=VALUE"};
  if (!std::exchange(ended_, true))
    options_.on_end(resume_follows ? RunEnd::kAskedToResume : RunEnd::kAsked);
  return {true, "stopping " + options_.directory->path()};
}

StatusReport Operate::Report() {
  const std::int64_t now_ns = MonotonicNs();
  StatusReport report;
  report.run = options_.directory->name();
  std::error_code error;
  report.directory = std::filesystem::absolute(options_.directory->path(), error).string();
  report.pid = getpid();
  report.uptime_s = static_cast<double>(now_ns - options_.start_ns) * 1e-9;
  report.listen = options_.listen;
  report.actors = options_.actors();
  if (options_.streams) report.streams = options_.streams();
  if (options_.settings) report.settings = options_.settings();
  if (!named_) return report;
  for (const auto& model : models_) {
    const TrainingUpdate& last = model->progress->last();
    report.models.push_back(
        {model->name, last.environment_steps, last.learned_steps, last.trained_steps, last.updates,
         last.version, model->progress->episodes(), last.dropped_steps, last.late_steps,
         model->progress->mean_return(), model->progress->success_rate(),
         model->progress->evaluation(), model->reports.Means(),
         model->progress->steps_per_second(now_ns), last.staleness_mean,
         writer_.Health(model->folder), last.learner_wait, last.ingest_wait, last.actor_wait});
  }
  return report;
}

void Operate::Finish() {
  TakeMail();
  const std::int64_t now_ns = MonotonicNs();
  next_curve_ns_ = 0;
  WriteRows(now_ns);
  if (options_.display->mode() == Display::Mode::kTable) Show(now_ns);
  options_.display->Release();
}

}  // namespace murmurate
