#include "server/stream/stream_answers.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "server/stream/due_time.h"
#include "server/stream/json_text.h"
#include "shared/core/clock.h"

namespace murmurate {
namespace {

constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();
constexpr const char* kDevice = "device";
constexpr std::int64_t kErrorsNs = kNanosecondsPerSecond;

}  // namespace

StreamAnswers::StreamAnswers(const StreamSettings& settings, Publish publish)
    : settings_(settings),
      publish_(std::move(publish)),
      device_says_all_(settings.subscribe.names().size() < 2) {
  const ForecastSettings& forecast = settings.forecast;
  const std::size_t horizons = forecast.horizons.size();
  forecasts_.resize(forecast.targets.size() * horizons);
  errors_.resize(forecasts_.size());
  times_.resize(horizons);
  for (std::size_t i = 0; i < forecast.targets.size(); ++i) {
    const StreamField& field = forecast.TargetField(i);
    targets_.push_back({field.name, field.unit, {forecasts_.data() + i * horizons, horizons}});
    target_alarms_.push_back({field.name, field.unit, 0.0f, 0.0f});
    target_errors_.push_back({field.name, field.unit, {errors_.data() + i * horizons, horizons}});
  }
}

/// Finds or adds the entry; forgets all when too many devices that have gone are among them.
StreamAnswers::Entry& StreamAnswers::Find(const std::string& device) {
  const auto found = devices_.find(device);
  if (found != devices_.end()) return *found;
  if (devices_.size() > 2 * static_cast<std::size_t>(settings_.forecast.max_devices)) {
    told_.clear();
    devices_.clear();
  }
  return *devices_.try_emplace(device).first;
}

void StreamAnswers::Remember(const std::string& device, std::span<const std::string_view> levels) {
  if (device_says_all_) return;
  std::vector<std::string>& kept = Find(device).second.levels;
  kept.resize(levels.size());
  for (std::size_t i = 0; i < levels.size(); ++i) kept[i] = levels[i];
}

/// False: it is not known what stands in the topic.
bool StreamAnswers::Fill(const TopicTemplate& pattern, const std::string& device) {
  const auto& names = settings_.subscribe.names();
  filling_.assign(names.size(), device);
  if (!device_says_all_) {
    const auto kept = devices_.find(device);
    const bool known = kept != devices_.end() && !kept->second.levels.empty();
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == kDevice) continue;
      filling_[i] = known ? std::string_view(kept->second.levels[i]) : std::string_view();
    }
    if (!known && !(settings_.committed && &pattern == &*settings_.committed)) return false;
  }
  pattern.Fill(filling_, &topic_);
  return true;
}

void StreamAnswers::Give(const Forecast& forecast, std::int64_t now_ns) {
  if (settings_.publish && Fill(*settings_.publish, forecast.device)) GiveForecast(forecast);
  if (settings_.metrics) UpdateErrors(forecast, now_ns);
  if (forecast.alarm == AlarmChange::kNone) return;
  if (settings_.alarm && settings_.alarm->publish &&
      Fill(*settings_.alarm->publish, forecast.device))
    GiveAlarm(forecast);
}

void StreamAnswers::GiveForecast(const Forecast& forecast) {
  for (std::size_t i = 0; i < times_.size(); ++i)
    times_[i] = DueTime(forecast, settings_.forecast.every_s, settings_.forecast.horizons[i]);
  for (std::size_t i = 0; i < forecasts_.size(); ++i) {
    const Prediction& made = forecast.predictions[i];
    forecasts_[i] = {made.published, made.model, made.baseline, made.by_model, made.quantiles};
  }
  const float skill = static_cast<float>(forecast.predictions.front().skill());
  WriteForecast({forecast.device, forecast.time_ns, times_, targets_, settings_.forecast.quantiles,
                 skill, forecast.version, forecast.id, forecast.sequence},
                settings_.payload.time_form, &text_);
  publish_(topic_, text_, 0, settings_.retain);
}

void StreamAnswers::UpdateErrors(const Forecast& forecast, std::int64_t now_ns) {
  Entry& device = Find(forecast.device);
  Known& known = device.second;
  known.time_ns = forecast.time_ns;
  known.version = forecast.version;
  known.errors.resize(errors_.size());
  for (std::size_t i = 0; i < errors_.size(); ++i) {
    const Prediction& made = forecast.predictions[i];
    const bool scored = made.score.count > 0;
    known.errors[i] = {scored ? made.score.model : kUnknown,
                       scored ? made.score.baseline : kUnknown,
                       scored ? static_cast<float>(made.skill()) : kUnknown,
                       static_cast<std::uint64_t>(made.score.count),
                       scored && made.quantiles.size() > 1 ? made.score.inside : kUnknown};
  }
  known.waits = true;
  if (known.told) return;
  GiveErrors(device.first, &known);
  known.told = true;
  known.next_ns = now_ns + kErrorsNs;
  told_.push_back(&device);
}

/// Publishes a device's errors; they go on waiting while there is no room or no broker.
void StreamAnswers::GiveErrors(const std::string& device, Known* known) {
  std::copy(known->errors.begin(), known->errors.end(), errors_.begin());
  known->waits = false;
  if (!Fill(*settings_.metrics, device)) return;
  WriteErrors({device, known->time_ns, target_errors_, known->version}, settings_.payload.time_form,
              &text_);
  known->waits = !publish_(topic_, text_, 0, settings_.retain);
}

void StreamAnswers::GiveDue(std::int64_t now_ns) {
  while (!told_.empty() && told_.front()->second.next_ns <= now_ns) {
    auto& [device, known] = *told_.front();
    known.told = known.waits;
    if (known.waits) {
      GiveErrors(device, &known);
      known.next_ns = now_ns + kErrorsNs;
      told_.push_back(told_.front());
    }
    told_.pop_front();
  }
}

void StreamAnswers::GiveRest() {
  for (auto* const device : told_)
    if (device->second.waits) GiveErrors(device->first, &device->second);
}

void StreamAnswers::GiveAlarm(const Forecast& forecast) {
  for (std::size_t i = 0; i < target_alarms_.size(); ++i) {
    const Prediction& made = forecast.predictions[i * times_.size()];
    target_alarms_[i].value =
        settings_.forecast.late_labels() ? made.baseline
        : settings_.forecast.own_labels()
            ? forecast.labels[i]
            : forecast.values[static_cast<std::size_t>(settings_.forecast.targets[i])];
    target_alarms_[i].forecast = made.published;
  }
  const bool raised = forecast.alarm == AlarmChange::kRaised;
  WriteAlarm({forecast.device, forecast.time_ns, raised, settings_.alarm->when, target_alarms_},
             settings_.payload.time_form, &text_);
  publish_(topic_, text_, 1, settings_.alarm->retain);
}

void StreamAnswers::Commit(CommittedSequences committed) {
  committed_ = std::move(committed);
  RestartCommitted();
}

bool StreamAnswers::GiveNextCommitted() {
  if (told_committed_ == committed_.size()) return false;
  const auto& [device, sequence] = committed_[told_committed_];
  if (!GiveCommitted(device, sequence)) return false;
  ++told_committed_;
  return true;
}

bool StreamAnswers::GiveCommitted(const std::string& device, std::uint64_t sequence) {
  if (!settings_.committed || !Fill(*settings_.committed, device)) return true;
  text_.clear();
  JsonText json(&text_);
  json.Open('{');
  json.Key(kDevice);
  json.Text(device);
  json.Key("sequence");
  json.Number(sequence);
  json.Close('}');
  return publish_(topic_, text_, 0, settings_.retain);
}

}  // namespace murmurate
