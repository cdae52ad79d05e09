#include "server/operate/progress.h"

#include <cerrno>
#include <cmath>
#include <cstring>

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

}  // namespace

void Progress::TakeScores(const TrainingUpdate& update) {
  wait_s_ += update.wait_s;
  busy_s_ += update.busy_s;
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

std::string Progress::Scores() const {
  std::string text;
  const auto add = [&](const char* name, double value) {
    if (!std::isfinite(value)) return;
    text += (text.empty() ? "" : ", ") + std::string(name) + ' ' + Number(value);
  };
  add("train/loss", last_.loss);
  add("train/accuracy", last_.accuracy);
  add("train/error", last_.error);
  add("eval/loss", eval_loss());
  add("eval/accuracy", eval_accuracy());
  return text;
}

double Progress::TakeWait() {
  const double share = wait_s_ / (wait_s_ + busy_s_);
  wait_s_ = busy_s_ = 0;
  return share;
}

void Progress::Take(const TrainingUpdate& update) {
  TakeScores(update);
  if (update.held_out) return;
  const std::uint64_t trained_steps = last_.trained_steps, updates = last_.updates;
  last_ = update;
  last_.trained_steps += trained_steps;
  last_.updates += updates;
  last_.episodes.clear();
  for (const EpisodeRecord& episode : update.episodes) {
    if (episode.mode != 0) continue;
    ++episodes_;
    window_.push_back(episode);
    if (window_.size() > kWindow) window_.pop_front();
  }
  lag_sum_ += update.staleness_mean;
  ++lag_count_;
  const auto mean = mean_return();
  if (!mean) return;
  if (!curve_.empty() && update.environment_steps < curve_.back().steps + curve_stride_) return;
  curve_.push_back({update.environment_steps, *mean});
  if (curve_.size() < kMaxCurvePoints) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < curve_.size(); i += 2) curve_[kept++] = curve_[i];
  curve_.resize(kept);
  curve_stride_ = std::max<std::uint64_t>(1, (curve_.back().steps - curve_.front().steps) / kept);
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

double Progress::steps_per_second(std::int64_t now_ns) {
  const double seconds = static_cast<double>(now_ns - rate_ns_) * 1e-9;
  const bool first = rate_ns_ == start_ns_;
  if (seconds >= 1.0 || (first && seconds > 0)) {
    rate_ = static_cast<double>(steps() - rate_steps_) / seconds;
    if (seconds >= 1.0) {
      rate_ns_ = now_ns;
      rate_steps_ = steps();
    }
  }
  return rate_;
}

std::optional<double> Progress::TakeLag() {
  if (lag_count_ == 0) return std::nullopt;
  const double mean = lag_sum_ / lag_count_;
  lag_sum_ = 0;
  lag_count_ = 0;
  return mean;
}

std::string ProgressFile::Header() {
  return "time/total_timesteps,time/time_elapsed,time/fps,train/trained_steps,train/updates,"
         "train/version,train/policy_lag_avg,perf/dropped_steps,rollout/ep_rew_mean,"
         "rollout/ep_len_mean,rollout/episodes,eval/mean_reward,train/policy_gradient_loss,"
         "train/value_loss,train/entropy_loss,train/approx_kl,train/clip_fraction,"
         "train/explained_variance,train/grad_norm,train/learning_rate,train/clip_range,train/"
         "loss,train/accuracy,"
         "train/error,eval/loss,eval/accuracy,perf/data_wait\n";
}

std::string ProgressFile::Row(Progress& progress, std::int64_t now_ns) {
  const TrainingUpdate& last = progress.last();
  const double elapsed = progress.elapsed_s(now_ns);
  std::string row = std::to_string(progress.steps()) + ',' + Number(elapsed) + ',';
  if (elapsed > 0) row += Number(std::floor(static_cast<double>(progress.steps()) / elapsed));
  row += ',' + std::to_string(last.trained_steps) + ',' + std::to_string(last.updates) + ',' +
         std::to_string(last.version) + ',' + Number(progress.TakeLag()) + ',' +
         std::to_string(last.dropped_steps) + ',' + Number(progress.mean_return()) + ',' +
         Number(progress.mean_length()) + ',' + std::to_string(progress.episodes()) + ',';
  const double wait = progress.TakeWait();
  if (last.updates == 0) return row + ",,,,,,,,,,,,,,,\n";
  for (const double value :
       {last.policy_loss, last.value_loss, -last.entropy, last.approx_kl, last.clip_fraction,
        last.explained_variance, last.grad_norm, last.learning_rate, last.clip_range, last.loss,
        last.accuracy, last.error, progress.eval_loss(), progress.eval_accuracy(), wait})
    row += ',' + Number(value);
  return row + '\n';
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
