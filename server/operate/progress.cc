#include "server/operate/progress.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "server/metrics/number_text.h"

namespace murmurate {
namespace {

/// The last kWindow of them.
void Append(EpisodeList* window, const EpisodeRecord& episode) {
  window->push_back(episode);
  if (window->size() > Progress::kWindow) window->pop_front();
}

bool IsCount(const Metric& metric) {
  return metric.kind == MetricKind::kCounter || metric.kind == MetricKind::kTotal;
}

/// Actors may claim any number.
std::uint64_t AsCount(double value) {
  if (!(value > 0)) return 0;
  return value < 0x1p63 ? static_cast<std::uint64_t>(value) : std::uint64_t{1} << 63;
}

bool IsWindowed(const Metric& metric) {
  return metric.kind == MetricKind::kMean || metric.kind == MetricKind::kMax;
}

}  // namespace

Progress::Progress(std::int64_t start_ns)
    : start_ns_(start_ns), taken_rate_(start_ns), learned_rate_(start_ns) {
  for (const Metric* metric : {&kTrainedSteps, &kUpdates, &kVersion, &kDroppedSteps, &kLateSteps})
    values_.Set(*metric, 0);
}

void Progress::TakeScores(const TrainingUpdate& update) {
  Since& wait = since_row_[&kDataWait];
  wait.sum += update.waited_s - std::exchange(waited_s_, update.waited_s);
  wait.weight += update.lived_s - std::exchange(lived_s_, update.lived_s);
  if (update.eval_rows > 0) {
    if (!(scoring_ && update.held_out)) eval_rows_ = eval_loss_sum_ = eval_accuracy_sum_ = 0;
    eval_rows_ += update.eval_rows;
    for (const auto& [metric, value] : update.metrics) {
      if (metric == &kEvalLoss) eval_loss_sum_ += update.eval_rows * value;
      if (metric == &kEvalAccuracy) eval_accuracy_sum_ += update.eval_rows * value;
    }
  }
  scoring_ = update.held_out;
}

/// Counters add up, totals stay until the next, all else is of this update alone.
void Progress::TakeMetrics(const Measurements& metrics) {
  Reading values;
  for (const MetricSample& sample : values_.samples())
    if (IsCount(*sample.metric)) values.Set(*sample.metric, sample.value);
  for (const auto& [metric, value] : metrics) {
    if (IsWindowed(*metric) && std::isfinite(value)) {
      Since& since = since_row_[metric];
      since.most = since.weight > 0 ? std::max(since.most, value) : value;
      since.sum += value;
      since.weight += 1;
    }
    if (IsCount(*metric)) {
      const std::uint64_t before = metric->kind == MetricKind::kCounter ? values.Count(*metric) : 0;
      values.Set(*metric, before + AsCount(value));
    } else {
      values.Set(*metric, value);
    }
  }
  values_ = std::move(values);
}

void Progress::TakeEpisodes(std::span<const EpisodeRecord> episodes) {
  for (const EpisodeRecord& episode : episodes) {
    if (episode.mode != 0) continue;
    ++episodes_;
    Append(&window_, episode);
    if (episode.success != 0) Append(&said_, episode);
  }
  if (const auto mean = mean_return()) curve_.Add({steps_.taken, *mean});
}

void Progress::Take(const TrainingUpdate& update) {
  TakeScores(update);
  if (update.held_out) return;
  steps_ = update.steps;
  last_ns_ = update.at_ns;
  TakeMetrics(update.metrics);
  TakeEpisodes(update.episodes);
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

double Progress::learned_per_second(std::int64_t now_ns) {
  return learned_rate_.PerSecond(learned_steps(), now_ns);
}

Reading Progress::Latest(std::int64_t now_ns) const {
  Reading reading = values_;
  const double elapsed = elapsed_s(now_ns);
  reading.Set(kEnvironmentSteps, steps());
  reading.Set(kLearnedSteps, learned_steps());
  reading.Set(kElapsed, elapsed);
  if (elapsed > 0) reading.Set(kOverallRate, std::floor(static_cast<double>(steps()) / elapsed));
  reading.Set(kEpisodeCount, episodes());
  reading.Set(kMeanReturn, mean_return());
  reading.Set(kMeanLength, mean_length());
  reading.Set(kSuccessRate, success_rate());
  if (eval_rows_ > 0) {
    reading.Set(kEvalLoss, eval_loss_sum_ / eval_rows_);
    reading.Set(kEvalAccuracy, eval_accuracy_sum_ / eval_rows_);
  }
  if (!evaluation_) return reading;
  reading.Set(kEvalReturn, evaluation_->mean_return);
  reading.Set(kEvalDeviation, evaluation_->deviation);
  reading.Set(kEvalLength, evaluation_->mean_length);
  reading.Set(kEvalSuccess, evaluation_->success_rate);
  reading.Set(kEvalSteps, evaluation_->steps);
  reading.Set(kEvalEpisodes, evaluation_->episodes);
  reading.Set(kEvalLearnedSteps, evaluation_->learned_steps);
  return reading;
}

Reading Progress::Live(std::int64_t now_ns) {
  Reading reading = Latest(now_ns);
  reading.Set(kStepRate, taken_rate_.PerSecond(steps(), now_ns));
  if (reading[kActorWait].empty()) reading.Set(kActorWait, MetricValue());
  for (const Metric* metric : {&kStaleness, &kLearnerWait, &kIngestWait})
    if (reading[*metric].empty()) reading.Set(*metric, 0.0);
  return reading;
}

Reading Progress::EndRow(std::int64_t now_ns) {
  Reading reading = Latest(now_ns);
  for (const MetricSample& sample : values_.samples())
    if (IsWindowed(*sample.metric)) reading.Set(*sample.metric, MetricValue());
  for (const auto& [metric, since] : std::exchange(since_row_, {}))
    reading.Set(*metric, metric->kind == MetricKind::kMax ? since.most : since.sum / since.weight);
  return reading;
}

std::string ScoresText(const Reading& reading) {
  std::string text;
  for (const Metric* metric : ScoreMetrics())
    if (const auto number = reading.Number(*metric))
      text += (text.empty() ? "" : ", ") + std::string(metric->name) + ' ' +
              FormatNumber("%.6g", *number);
  return text;
}

}  // namespace murmurate
