// What a stream says of itself: numbers, log lines, its word on the broker, a view for `status`.
#include <utility>

#include "server/operate/reports.h"
#include "server/stream/forecast_text.h"
#include "server/stream/streaming.h"
#include "shared/core/clock.h"

namespace murmurate {
namespace {

constexpr std::int64_t kRefusalNs = 60 * kNanosecondsPerSecond;

/// What became of the messages that were taken.
void PutRows(const Forecaster::Totals& totals, StreamView* view) {
  view->messages = totals.messages;
  view->rows = totals.rows;
  view->forecasts = totals.forecasts;
  view->late = totals.late;
  view->incomplete = totals.incomplete;
  view->skipped = totals.skipped;
  view->joined = totals.joined;
  view->empty = totals.empty;
}

}  // namespace

/// Each weighs as much as a whole window, so that what is shown is the newest.
void Streaming::PostNumbers() {
  const Forecaster::Totals& totals = forecaster_.totals();
  std::vector<wire::ReportedNumber> numbers;
  const auto add = [&](const char* name, double value) {
    constexpr auto kWeight = static_cast<std::uint32_t>(Reports::kWindow);
    numbers.push_back({std::string("stream/") + name, value * kWeight, kWeight});
  };
  if (totals.scored > 0) {
    add("error", totals.model_error);
    add("baseline_error", totals.baseline_error);
    add("skill", totals.skill());
  }
  add("messages_per_s", messages_per_s_);
  add("devices", static_cast<double>(forecaster_.devices()));
  std::uint64_t refused = 0;
  for (std::size_t i = 1; i < kRefusals; ++i) refused += counts_[static_cast<Refusal>(i)];
  add("refused", static_cast<double>(refused));
  add("unlearned", static_cast<double>(totals.unlearned));
  add("gaps", static_cast<double>(totals.gaps));
  add("breaks", static_cast<double>(totals.breaks));
  if (link_) {
    const MqttCounters& counters = link_->counters();
    add("unpublished",
        static_cast<double>(counters.refused_full + counters.refused + counters.dropped));
  }
  if (replay_) add("replayed", static_cast<double>(replay_->drawn()));
  add("drifts", static_cast<double>(totals.drifts));
  if (settings_.alarm) add("alarms", static_cast<double>(forecaster_.alarms()));
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

StreamView Streaming::View() const {
  StreamView view;
  view.name = settings_.name;
  view.up = true;
  if (link_) {
    view.broker = link_->address().ToString();
    const std::int64_t since_ns = link_->down_since_ns();
    view.up = since_ns == MqttLink::kUp;
    if (!view.up) view.down_s = static_cast<double>(clock_.now_ns() - since_ns) * 1e-9;
    view.published = link_->counters().published;
    view.losses = link_->counters().losses;
  }
  const std::lock_guard lock(mutex_);
  if (server_) {
    view.listen = server_->address();
    view.clients = server_->peers();
    view.answered = server_->counters().answers;
    view.refused = server_->RefusedMessages();
  }
  const Forecaster::Totals& totals = forecaster_.totals();
  view.received = counts_.sum();
  PutRows(totals, &view);
  view.waiting = forecaster_.open_cells();
  view.stuck = forecaster_.stuck();
  view.messages_per_s = messages_per_s_;
  view.devices = forecaster_.devices();
  view.learned = totals.learned;
  view.unlearned = totals.unlearned;
  view.gaps = totals.gaps;
  if (totals.scored > 0) {
    view.error = totals.model_error;
    view.baseline_error = totals.baseline_error;
  }
  for (std::size_t i = 1; i < kRefusals; ++i)
    if (const auto refusal = static_cast<Refusal>(i); counts_[refusal] > 0)
      view.refused.emplace_back(WordOf(refusal), counts_[refusal]);
  const std::vector<FieldCounts> fields = CountFields();
  for (std::size_t i = 0; i < fields.size(); ++i)
    if (fields[i].any())
      view.fields.push_back({settings_.payload.fields[i].name, fields[i].missing,
                             fields[i].out_of_range, fields[i].wrong_type});
  return view;
}

}  // namespace murmurate
