#include "server/operate/progress.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

#include "shared/core/clock.h"

namespace murmurate {
namespace {

constexpr std::size_t kMaxCurvePoints = 4096;

std::string Number(double value) {
  if (!std::isfinite(value)) return "";
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string Number(const std::optional<double>& value) { return value ? Number(*value) : ""; }

/// The last kWindow of them.
void Append(EpisodeList* window, const EpisodeRecord& episode) {
  window->push_back(episode);
  if (window->size() > Progress::kWindow) window->pop_front();
}

std::string EvaluationFields(const std::optional<Evaluation>& evaluation) {
  if (!evaluation) return ",,,,,";
  return ',' + Number(evaluation->mean_return) + ',' + Number(evaluation->deviation) + ',' +
         Number(evaluation->mean_length) + ',' + Number(evaluation->success_rate) + ',' +
         std::to_string(evaluation->steps);
}

}  // namespace

void Curve::Add(const CurvePoint& point) {
  if (!points_.empty() && point.steps < points_.back().steps + stride_) return;
  points_.push_back(point);
  if (points_.size() < kMaxCurvePoints) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < points_.size(); i += 2) points_[kept++] = points_[i];
  points_.resize(kept);
  stride_ = std::max<std::uint64_t>(1, (points_.back().steps - points_.front().steps) / kept);
}

void Progress::TakeScores(const TrainingUpdate& update) {
  waited_s_ = update.waited_s;
  lived_s_ = update.lived_s;
  if (update.eval_rows > 0) {
    if (!(scoring_ && update.held_out)) eval_rows_ = eval_loss_sum_ = eval_accuracy_sum_ = 0;
    eval_rows_ += update.eval_rows;
    eval_loss_sum_ += update.eval_rows * update.eval_loss;
    eval_accuracy_sum_ += update.eval_rows * update.eval_accuracy;
  }
  scoring_ = update.held_out;
}

double Progress::eval_loss() const { return eval_loss_sum_ / eval_rows_; }
double Progress::eval_accuracy() const { return eval_accuracy_sum_ / eval_rows_; }

std::vector<std::pair<std::string, double>> Progress::ScoreList() const {
  std::vector<std::pair<std::string, double>> scores;
  const auto add = [&](const char* name, double value) {
    if (std::isfinite(value)) scores.emplace_back(name, value);
  };
  add("train/loss", last_.loss);
  add("train/accuracy", last_.accuracy);
  add("train/error", last_.error);
  add("eval/loss", eval_loss());
  add("eval/accuracy", eval_accuracy());
  return scores;
}

std::string Progress::Scores() const {
  std::string text;
  for (const auto& [name, value] : ScoreList())
    text += (text.empty() ? "" : ", ") + name + ' ' + Number(value);
  return text;
}

double Progress::TakeWait() {
  const double waited_s = waited_s_ - std::exchange(shown_waited_s_, waited_s_);
  const double lived_s = lived_s_ - std::exchange(shown_lived_s_, lived_s_);
  return waited_s / lived_s;
}

void Progress::Take(const TrainingUpdate& update) {
  TakeScores(update);
  if (update.held_out) return;
  const std::uint64_t trained_steps = last_.trained_steps, updates = last_.updates,
                      late_steps = last_.late_steps;
  last_ = update;
  last_.trained_steps += trained_steps;
  last_.updates += updates;
  last_.late_steps += late_steps;
  last_.episodes.clear();
  for (const EpisodeRecord& episode : update.episodes) {
    if (episode.mode != 0) continue;
    ++episodes_;
    Append(&window_, episode);
    if (episode.success != 0) Append(&said_, episode);
  }
  lag_sum_ += update.staleness_mean;
  lag_max_ = std::max(lag_max_, update.staleness_max);
  ++lag_count_;
  if (const auto mean = mean_return()) curve_.Add({update.environment_steps, *mean});
}

void Progress::TakeEvaluation(const Evaluation& evaluation) {
  evaluates_itself_ = true;
  evaluation_ = evaluation;
  evaluation_curve_.Add({evaluation.steps, evaluation.mean_return});
}

void Progress::TakeEvaluated(std::span<const EpisodeRecord> episodes) {
  if (evaluates_itself_) return;
  for (const EpisodeRecord& episode : episodes)
    if (episode.mode == 1) Append(&evaluated_, episode);
  if (evaluated_.empty()) return;
  evaluation_ = EvaluationOf(evaluated_);
  evaluation_->steps = steps();
  evaluation_->learned_steps = learned_steps();
  if (evaluated_.size() == kWindow) evaluation_curve_.Add({steps(), evaluation_->mean_return});
}

std::optional<double> Progress::mean_return() const {
  if (window_.empty()) return std::nullopt;
  double sum = 0;
  for (const EpisodeRecord& episode : window_) sum += episode.raw_return;
  return sum / static_cast<double>(window_.size());
}

std::optional<double> Progress::mean_length() const {
  if (window_.empty()) return std::nullopt;
  double sum = 0;
  for (const EpisodeRecord& episode : window_) sum += episode.length;
  return sum / static_cast<double>(window_.size());
}

double Rate::PerSecond(std::uint64_t count, std::int64_t now_ns) {
  const double seconds = static_cast<double>(now_ns - since_ns_) * 1e-9;
  const bool first = since_ns_ == start_ns_;
  if (seconds >= 1.0 || (first && seconds > 0)) {
    rate_ = static_cast<double>(count - count_) / seconds;
    if (seconds >= 1.0) {
      since_ns_ = now_ns;
      count_ = count;
    }
  }
  return rate_;
}

double Progress::steps_per_second(std::int64_t now_ns) {
  return taken_rate_.PerSecond(steps(), now_ns);
}

double Progress::learned_per_second(std::int64_t now_ns) {
  return learned_rate_.PerSecond(learned_steps(), now_ns);
}

Progress::Lag Progress::TakeLag() {
  if (lag_count_ == 0) return {};
  const Lag lag{lag_sum_ / lag_count_, lag_max_};
  lag_sum_ = lag_max_ = 0;
  lag_count_ = 0;
  return lag;
}

std::string ProgressFile::Header() {
  return "time/total_timesteps,time/time_elapsed,time/fps,train/trained_steps,train/updates,"
         "train/version,train/policy_lag_avg,train/policy_lag_max,perf/dropped_steps,"
         "perf/learner_wait,perf/actor_wait,rollout/ep_rew_mean,"
         "rollout/ep_len_mean,rollout/episodes,rollout/success_rate,eval/mean_reward,"
         "eval/std_reward,eval/mean_ep_length,eval/success_rate,eval/timesteps,"
         "train/policy_gradient_loss,train/value_loss,train/entropy_loss,train/approx_kl,"
         "train/clip_fraction,"
         "train/explained_variance,train/grad_norm,train/learning_rate,train/clip_range,"
         "train/loss,train/accuracy,train/error,eval/loss,eval/accuracy,perf/data_wait,"
         "parameters/staleness,parameters/staleness_max,parameters/distance,parameters/wait_s,"
         "parameters/late,parameters/wasted,perf/late_steps,time/learned_steps,train/lag_kl\n";
}

std::string ProgressFile::Row(Progress& progress, std::int64_t now_ns) {
  const TrainingUpdate& last = progress.last();
  const double elapsed = progress.elapsed_s(now_ns);
  std::string row = std::to_string(progress.steps()) + ',' + Number(elapsed) + ',';
  if (elapsed > 0) row += Number(std::floor(static_cast<double>(progress.steps()) / elapsed));
  const Progress::Lag lag = progress.TakeLag();
  row += ',' + std::to_string(last.trained_steps) + ',' + std::to_string(last.updates) + ',' +
         std::to_string(last.version) + ',' + Number(lag.mean) + ',' + Number(lag.max) + ',' +
         std::to_string(last.dropped_steps) + ',' +
         (last.at_ns > 0 ? Number(last.learner_wait) : "") + ',' + Number(last.actor_wait) + ',' +
         Number(progress.mean_return()) + ',' + Number(progress.mean_length()) + ',' +
         std::to_string(progress.episodes()) + ',' + Number(progress.success_rate()) +
         EvaluationFields(progress.evaluation());
  const double wait = progress.TakeWait();
  const std::string end = ',' + std::to_string(last.late_steps) + ',' +
                          std::to_string(progress.learned_steps()) + ',' +
                          (last.updates == 0 ? "" : Number(last.lag_kl)) + '\n';
  if (last.updates == 0) return row + std::string(21, ',') + end;
  for (const double value : {last.policy_loss,
                             last.value_loss,
                             -last.entropy,
                             last.approx_kl,
                             last.clip_fraction,
                             last.explained_variance,
                             last.grad_norm,
                             last.learning_rate,
                             last.clip_range,
                             last.loss,
                             last.accuracy,
                             last.error,
                             progress.eval_loss(),
                             progress.eval_accuracy(),
                             wait,
                             last.exchange_staleness,
                             last.exchange_staleness_max,
                             last.exchange_distance,
                             last.exchange_wait_s,
                             last.exchange_late,
                             last.exchange_wasted})
    row += ',' + Number(value);
  return row + end;
}

Result<ProgressFile> ProgressFile::Create(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "we");
  if (file == nullptr)
    return ResourceError(
        path + ": cannot be written (" + std::strerror(errno) +
        "); check the folder's permissions or choose another with --set run.dir=DIR");
  ProgressFile made(path, file);
  if (Status status = made.Append(Header()); !status.ok()) return status;
  return made;
}

Status ProgressFile::Append(const std::string& row) {
  if (std::fputs(row.c_str(), file_.get()) >= 0 && std::fflush(file_.get()) == 0) return {};
  return ResourceError(path_ + ": cannot be written (" + std::strerror(errno) +
                       "); free some disk space");
}

}  // namespace murmurate
