// What a stream says of itself: numbers, log lines, its word on the broker, a view for `status`.
#include <utility>

#include "server/metrics/stream_metrics.h"
#include "server/operate/reports.h"
#include "server/stream/forecast_text.h"
#include "server/stream/streaming.h"
#include "shared/core/clock.h"

namespace murmurate {
namespace {

constexpr std::int64_t kRefusalNs = 60 * kNanosecondsPerSecond;

}  // namespace

void Streaming::MeasureWays(Reading* reading) const {
  const std::int64_t since_ns = link_ ? link_->down_since_ns() : MqttLink::kUp;
  const bool up = since_ns == MqttLink::kUp;
  reading->Set(kStreamUp, up);
  reading->Set(kStreamDown, up ? 0.0 : static_cast<double>(clock_.now_ns() - since_ns) * 1e-9);
  reading->Set(kStreamBroker, link_ ? link_->address().ToString() : "");
  reading->Set(kStreamPublished, link_ ? link_->counters().published.load() : 0);
  reading->Set(kStreamLosses, link_ ? link_->counters().losses.load() : 0);
  if (link_)
    reading->Set(kStreamUnpublished, link_->counters().refused_full + link_->counters().refused +
                                         link_->counters().dropped);
  reading->Set(kStreamListen, server_ ? server_->address() : "");
  reading->Set(kStreamClients, server_ ? server_->peers() : 0);
  reading->Set(kStreamAnswered, server_ ? server_->counters().answers : 0);
}

void Streaming::MeasureMessages(Reading* reading) const {
  reading->Set(kStreamReceived, counts_.sum());
  reading->Set(kStreamRefused, counts_.sum() - counts_[Refusal::kNone]);
  reading->Set(kStreamRate, messages_per_s_);
  if (server_)
    for (const auto& [word, count] : server_->RefusedMessages())
      reading->Add(kStreamRefusals, word, count);
  for (std::size_t i = 1; i < kRefusals; ++i)
    if (const auto refusal = static_cast<Refusal>(i); counts_[refusal] > 0)
      reading->Add(kStreamRefusals, WordOf(refusal), counts_[refusal]);
  const std::vector<FieldCounts> fields = CountFields();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!fields[i].any()) continue;
    const std::string& name = settings_.payload.fields[i].name;
    reading->Add(kFieldMissing, name, fields[i].missing);
    reading->Add(kFieldOutOfRange, name, fields[i].out_of_range);
    reading->Add(kFieldWrongType, name, fields[i].wrong_type);
  }
}

void Streaming::MeasureForecasts(Reading* reading) const {
  const Forecaster::Totals& totals = forecaster_.totals();
  const std::pair<const Metric*, std::uint64_t> counts[] = {
      {&kStreamMessages, totals.messages},
      {&kStreamRows, totals.rows},
      {&kStreamForecasts, totals.forecasts},
      {&kStreamLate, totals.late},
      {&kStreamIncomplete, totals.incomplete},
      {&kStreamSkipped, totals.skipped},
      {&kStreamJoined, totals.joined},
      {&kStreamEmpty, totals.empty},
      {&kStreamLearned, totals.learned},
      {&kStreamUnlearned, totals.unlearned},
      {&kStreamGaps, totals.gaps},
      {&kStreamBreaks, totals.breaks},
      {&kStreamDrifts, totals.drifts},
      {&kStreamDevices, forecaster_.devices()},
      {&kStreamWaiting, forecaster_.open_cells()}};
  for (const auto& [metric, count] : counts) reading->Set(*metric, count);
  reading->Set(kStreamStuck, forecaster_.stuck());
  if (settings_.alarm) reading->Set(kStreamAlarms, forecaster_.alarms());
  if (replay_) reading->Set(kStreamReplayed, replay_->drawn());
  const bool scored = totals.scored > 0;
  reading->Set(kStreamError, scored ? MetricValue(totals.model_error) : MetricValue());
  reading->Set(kStreamNaiveError, scored ? MetricValue(totals.baseline_error) : MetricValue());
  const bool compared = scored && totals.baseline_error > 0;
  reading->Set(kStreamSkill, compared ? MetricValue(totals.skill()) : MetricValue());
}

Reading Streaming::Measure() const {
  Reading reading("stream", settings_.name);
  MeasureWays(&reading);
  MeasureMessages(&reading);
  MeasureForecasts(&reading);
  return reading;
}

Reading Streaming::Metrics() const {
  const std::lock_guard lock(mutex_);
  return Measure();
}

/// Reports with a full window's weight, so that the displayed mean is the latest value.
void Streaming::PostNumbers() {
  constexpr auto kWeight = static_cast<std::uint32_t>(Reports::kWindow);
  std::vector<wire::ReportedNumber> numbers;
  const Reading reading = Measure();
  for (const MetricSample& sample : reading.samples())
    if (const auto value = sample.value.number(); value && sample.metric->in_files)
      numbers.push_back({std::string(sample.metric->name), *value * kWeight, kWeight});
  on_numbers_(numbers);
}

/// Each kind at once, and then once a minute.
void Streaming::LogRefusals(std::int64_t now_ns) {
  for (std::size_t i = 1; i < kRefusals; ++i) {
    const auto refusal = static_cast<Refusal>(i);
    Logged& logged = logged_[i];
    if (counts_[refusal] == logged.count || now_ns < logged.next_ns) continue;
    log_(LogLevel::kWarning, "stream " + settings_.name + ": refused " +
                                 std::to_string(counts_[refusal] - logged.count) + " messages (" +
                                 WordOf(refusal) + "): " + SentenceOf(refusal));
    logged = {counts_[refusal], now_ns + kRefusalNs};
  }
}

void Streaming::LogDrifts() {
  const std::uint64_t drifts = forecaster_.totals().drifts;
  if (std::exchange(drifts_before_, drifts) == drifts) return;
  log_(LogLevel::kWarning, "stream " + settings_.name +
                               ": the model's errors have risen for good, so what it learned no "
                               "longer holds; it goes on learning");
}

/// Logs once that a device never makes a row, which a user cannot see from the counters.
void Streaming::LogStuck() {
  if (forecaster_.stuck().empty() || std::exchange(told_of_stuck_, true)) return;
  log_(LogLevel::kWarning,
       "stream " + settings_.name + ": " + forecaster_.stuck() +
           ", so no row was made and nothing is forecast for it; if its fields come in messages of "
           "their own, set 'every' to join those of one cell of a grid, else leave out of 'fields' "
           "what does not come as a number");
}

/// What was too large for the link, which has seen no topic of it.
void Streaming::CountOversized() {
  if (!link_) return;
  const std::uint64_t before = std::exchange(oversized_before_, link_->counters().oversized);
  counts_.Add(Refusal::kOversized, oversized_before_ - before);
}

/// However the messages came.
std::vector<FieldCounts> Streaming::CountFields() const {
  std::vector<FieldCounts> counts(reader_.counts().begin(), reader_.counts().end());
  for (std::size_t i = 0; server_ && i < counts.size(); ++i) {
    const FieldCounts& more = server_->field_counts()[i];
    counts[i].missing += more.missing;
    counts[i].out_of_range += more.out_of_range;
    counts[i].wrong_type += more.wrong_type;
  }
  return counts;
}

/// Often, since who finds a broker again cannot know how old what was kept there is.
void Streaming::SayStatus() {
  if (settings_.status.empty()) return;
  const char* const state = settings_.forecast.learn ? "learning" : "forecasting";
  const std::vector<FieldCounts> fields = CountFields();
  WriteStatus(
      {state, "", began_ns_, forecaster_.devices(), counts_, settings_.payload.fields, fields},
      settings_.payload.time_form, &status_text_);
  link_->Publish(settings_.status, status_text_, 1, true);
}

}  // namespace murmurate
