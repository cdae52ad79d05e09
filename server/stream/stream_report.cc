#include "server/stream/stream_report.h"

#include <limits>
#include <utility>

#include "server/metrics/stream_metrics.h"
#include "server/operate/reports.h"
#include "server/stream/forecast_text.h"
#include "shared/core/clock.h"

namespace murmurate {
namespace {

constexpr std::int64_t kRefusalNs = 60 * kNanosecondsPerSecond;

}  // namespace

StreamReport::StreamReport(const Parts& parts, std::function<std::int64_t()> now_ns,
                           std::int64_t began_ns, OnNumbers on_numbers, LogCallback log)
    : parts_(parts),
      now_ns_(std::move(now_ns)),
      began_ns_(began_ns),
      on_numbers_(std::move(on_numbers)),
      log_(std::move(log)),
      next_second_ns_(now_ns_() + kNanosecondsPerSecond) {}

void StreamReport::GoOn() {
  const RefusalCounts& counts = parts_.input.counts();
  for (std::size_t i = 0; i < kRefusals; ++i) logged_[i].count = counts[static_cast<Refusal>(i)];
  const Forecaster::Totals totals = parts_.forecaster.totals();
  messages_before_ = totals.messages;
  drifts_before_ = totals.drifts;
}

void StreamReport::Stop() { next_second_ns_ = std::numeric_limits<std::int64_t>::max(); }

bool StreamReport::EachSecond(std::int64_t now_ns) {
  if (now_ns < next_second_ns_) return false;
  const double seconds = static_cast<double>(now_ns - next_second_ns_) * 1e-9 + 1.0;
  next_second_ns_ = now_ns + kNanosecondsPerSecond;
  const std::uint64_t messages = parts_.forecaster.totals().messages;
  messages_per_s_ = static_cast<double>(messages - messages_before_) / seconds;
  messages_before_ = messages;
  PostNumbers();
  LogRefusals(now_ns);
  LogDrifts();
  LogStuck();
  return true;
}

void StreamReport::MeasureWays(Reading* reading) const {
  const std::int64_t since_ns = parts_.link ? parts_.link->down_since_ns() : MqttLink::kUp;
  const bool up = since_ns == MqttLink::kUp;
  reading->Set(kStreamUp, up);
  reading->Set(kStreamDown, up ? 0.0 : static_cast<double>(now_ns_() - since_ns) * 1e-9);
  reading->Set(kStreamBroker, parts_.link ? parts_.link->address().ToString() : "");
  reading->Set(kStreamPublished, parts_.link ? parts_.link->counters().published.load() : 0);
  reading->Set(kStreamLosses, parts_.link ? parts_.link->counters().losses.load() : 0);
  if (parts_.link)
    reading->Set(kStreamUnpublished, parts_.link->counters().refused_full +
                                         parts_.link->counters().refused +
                                         parts_.link->counters().dropped);
  reading->Set(kStreamListen, parts_.server ? parts_.server->address() : "");
  reading->Set(kStreamClients, parts_.server ? parts_.server->peers() : 0);
  reading->Set(kStreamAnswered, parts_.server ? parts_.server->counters().answers : 0);
}

void StreamReport::MeasureMessages(Reading* reading) const {
  reading->Set(kStreamReceived, parts_.input.counts().sum());
  reading->Set(kStreamRefused, parts_.input.counts().sum() - parts_.input.counts()[Refusal::kNone]);
  reading->Set(kStreamRate, messages_per_s_);
  if (parts_.server)
    for (const auto& [word, count] : parts_.server->RefusedMessages())
      reading->Add(kStreamRefusals, word, count);
  for (std::size_t i = 1; i < kRefusals; ++i)
    if (const auto refusal = static_cast<Refusal>(i); parts_.input.counts()[refusal] > 0)
      reading->Add(kStreamRefusals, WordOf(refusal), parts_.input.counts()[refusal]);
  const std::vector<FieldCounts> fields = CountFields();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!fields[i].any()) continue;
    const std::string& name = parts_.settings.payload.fields[i].name;
    reading->Add(kFieldMissing, name, fields[i].missing);
    reading->Add(kFieldOutOfRange, name, fields[i].out_of_range);
    reading->Add(kFieldWrongType, name, fields[i].wrong_type);
  }
}

void StreamReport::MeasureForecasts(Reading* reading) const {
  const Forecaster::Totals& totals = parts_.forecaster.totals();
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
      {&kStreamDevices, parts_.forecaster.devices()},
      {&kStreamWaiting, parts_.forecaster.open_cells()}};
  for (const auto& [metric, count] : counts) reading->Set(*metric, count);
  reading->Set(kStreamStuck, parts_.forecaster.stuck());
  if (parts_.settings.labels) {
    reading->Set(kStreamEarly, parts_.forecaster.labels().waiting());
    reading->Set(kStreamUnmatched, totals.unmatched);
  }
  if (parts_.settings.alarm) reading->Set(kStreamAlarms, parts_.forecaster.alarms());
  if (parts_.settings.replay > 0) reading->Set(kStreamReplayed, parts_.feed.replayed());
  const bool scored = totals.scored > 0;
  reading->Set(kStreamError, scored ? MetricValue(totals.model_error) : MetricValue());
  reading->Set(kStreamNaiveError, scored ? MetricValue(totals.baseline_error) : MetricValue());
  const bool compared = scored && totals.baseline_error > 0;
  reading->Set(kStreamSkill, compared ? MetricValue(totals.skill()) : MetricValue());
}

Reading StreamReport::Measure() const {
  Reading reading("stream", parts_.settings.name);
  MeasureWays(&reading);
  MeasureMessages(&reading);
  MeasureForecasts(&reading);
  latest_.Measure(&reading);
  return reading;
}

/// Reports with a full window's weight, so that the displayed mean is the latest value.
void StreamReport::PostNumbers() const {
  constexpr auto kWeight = static_cast<std::uint32_t>(Reports::kWindow);
  std::vector<wire::ReportedNumber> numbers;
  const Reading reading = Measure();
  for (const MetricSample& sample : reading.samples())
    if (const auto value = sample.value.number(); value && sample.metric->in_files)
      numbers.push_back({std::string(sample.metric->name), *value * kWeight, kWeight});
  on_numbers_(numbers);
}

void StreamReport::Warn(const std::string& sentence) const {
  log_(LogLevel::kWarning, "stream " + parts_.settings.name + ": " + sentence);
}

/// Each kind at once, and then once a minute.
void StreamReport::LogRefusals(std::int64_t now_ns) {
  for (std::size_t i = 1; i < kRefusals; ++i) {
    const auto refusal = static_cast<Refusal>(i);
    Logged& logged = logged_[i];
    if (parts_.input.counts()[refusal] == logged.count || now_ns < logged.next_ns) continue;
    Warn("refused " + std::to_string(parts_.input.counts()[refusal] - logged.count) +
         " messages (" + WordOf(refusal) + "): " + SentenceOf(refusal));
    logged = {parts_.input.counts()[refusal], now_ns + kRefusalNs};
  }
}

void StreamReport::LogDrifts() {
  const std::uint64_t drifts = parts_.forecaster.totals().drifts;
  if (std::exchange(drifts_before_, drifts) == drifts) return;
  Warn(
      "the model's errors have risen for good, so what it learned no "
      "longer holds; it goes on learning");
}

/// Logs once that a device never makes a row, which a user cannot see from the counters.
void StreamReport::LogStuck() {
  if (parts_.forecaster.stuck().empty() || std::exchange(told_of_stuck_, true)) return;
  Warn(parts_.forecaster.stuck() +
       ", so no row was made and nothing is forecast for it; if its fields come in messages of "
       "their own, set 'every' to join those of one cell of a grid, else leave out of 'fields' "
       "what does not come as a number");
}

/// Counts the fields of all messages, from a broker or by `listen`.
std::vector<FieldCounts> StreamReport::CountFields() const {
  std::vector<FieldCounts> counts(parts_.input.field_counts().begin(),
                                  parts_.input.field_counts().end());
  for (std::size_t i = 0; parts_.server && i < counts.size(); ++i) {
    const FieldCounts& more = parts_.server->field_counts()[i];
    counts[i].missing += more.missing;
    counts[i].out_of_range += more.out_of_range;
    counts[i].wrong_type += more.wrong_type;
  }
  return counts;
}

const std::string& StreamReport::StatusText() {
  const StreamSettings& settings = parts_.settings;
  const std::vector<FieldCounts> fields = CountFields();
  WriteStatus({settings.forecast.learn ? "learning" : "forecasting", "", began_ns_,
               parts_.forecaster.devices(), parts_.input.counts(), settings.payload.fields, fields},
              settings.payload.time_form, &status_text_);
  return status_text_;
}

}  // namespace murmurate
