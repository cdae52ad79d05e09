#include "server/operate/progress.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "server/metrics/number_text.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr double kWaitBounds[] = {0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30};

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
    : start_ns_(start_ns),
      batch_waits_(kWaitBounds),
      taken_rate_(start_ns),
      learned_rate_(start_ns) {
  for (const Metric* metric : {&kTrainedSteps, &kUpdates, &kVersion, &kDroppedSteps, &kLateSteps})
    values_.Set(*metric, 0);
}

void Progress::AddDataWait(const TrainingUpdate& update) {
  Since& wait = since_row_[&kDataWait];
  const double waited_s = update.waited_s - std::exchange(waited_s_, update.waited_s);
  batch_waits_.Add(waited_s);
  wait.sum += waited_s;
  wait.weight += update.lived_s - std::exchange(lived_s_, update.lived_s);
}

/// Counters add up, totals stay until the next, all else is of this update alone.
void Progress::AddMetrics(const Measurements& metrics) {
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

void Progress::Apply(const TrainingUpdate& update) {
  AddDataWait(update);
  scores_.Add(update.metrics, update.eval_rows, update.held_out);
  if (update.held_out) return;
  steps_ = update.steps;
  last_ns_ = update.at_ns;
  AddMetrics(update.metrics);
  means_.Add(update.episodes);
  if (const auto mean = means_.mean_return()) curve_.Add({steps_.taken, *mean});
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
  reading.Set(kBatchWait, batch_waits_);
  if (elapsed > 0) reading.Set(kOverallRate, std::floor(static_cast<double>(steps()) / elapsed));
  means_.PutInto(&reading);
  scores_.PutInto(&reading);
  evaluations_.PutInto(&reading);
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

void Progress::Save(std::int64_t now_ns, const StateWriter& writer) const {
  writer.Words("counters", {{steps(), values_.Count(kDroppedSteps), values_.Count(kTrainedSteps),
                             values_.Count(kUpdates), values_.Count(kVersion), means_.episodes()}});
  writer.Words("late_steps", {{values_.Count(kLateSteps)}});
  writer.Doubles("elapsed", {{elapsed_s(now_ns)}});
  means_.Save(writer);
  curve_.Save("curve", writer);
  evaluations_.Save(writer);
}

Status Progress::Load(const StateReader& reader, std::uint64_t number) {
  std::array<std::uint64_t, 6> counters{};
  MURMURATE_RETURN_IF_ERROR(reader.Words("counters", counters));
  MURMURATE_RETURN_IF_ERROR(reader.Doubles("elapsed", std::span(&earlier_s_, 1)));
  MURMURATE_RETURN_IF_ERROR(means_.Load(reader, counters[5]));
  MURMURATE_RETURN_IF_ERROR(curve_.Load("curve", reader));
  MURMURATE_RETURN_IF_ERROR(evaluations_.Load(reader));
  steps_ = {number, counters[0]};
  taken_rate_.BeginAt(counters[0]);
  learned_rate_.BeginAt(number);
  values_.Set(kDroppedSteps, counters[1]);
  values_.Set(kTrainedSteps, counters[2]);
  values_.Set(kUpdates, counters[3]);
  values_.Set(kVersion, counters[4]);
  std::uint64_t late_steps = 0;  // which a checkpoint of an earlier version did not count
  if (reader.Words("late_steps", std::span(&late_steps, 1)).ok())
    values_.Set(kLateSteps, late_steps);
  return {};
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
