#include "server/stream_answers.h"

#include <limits>

#include "server/stream/due_time.h"
#include "server/stream/json_text.h"

namespace murmurate {
namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
constexpr const char* kDevice = "device";

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
    const StreamField& field = forecast.fields[static_cast<std::size_t>(forecast.targets[i])];
    targets_.push_back({field.name, field.unit, {forecasts_.data() + i * horizons, horizons}});
    target_alarms_.push_back({field.name, field.unit, 0.0f, 0.0f});
    target_errors_.push_back({field.name, field.unit, {errors_.data() + i * horizons, horizons}});
  }
}

void StreamAnswers::Remember(const std::string& device, std::span<const std::string_view> levels) {
  if (device_says_all_) return;
  if (levels_.size() > 2 * static_cast<std::size_t>(settings_.forecast.max_devices))
    levels_.clear();
  std::vector<std::string>& kept = levels_[device];
  kept.resize(levels.size());
  for (std::size_t i = 0; i < levels.size(); ++i) kept[i] = levels[i];
}

/// False: nobody knows what stands in the topic.
bool StreamAnswers::Fill(const TopicTemplate& pattern, const std::string& device) {
  const auto& names = settings_.subscribe.names();
  filling_.assign(names.size(), device);
  if (!device_says_all_) {
    const auto kept = levels_.find(device);
    const bool known = kept != levels_.end();
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == kDevice) continue;
      filling_[i] = known ? std::string_view(kept->second[i]) : std::string_view();
    }
    if (!known && !(settings_.committed && &pattern == &*settings_.committed)) return false;
  }
  pattern.Fill(filling_, &topic_);
  return true;
}

void StreamAnswers::Give(const Forecast& forecast) {
  if (settings_.publish && Fill(*settings_.publish, forecast.device)) GiveForecast(forecast);
  if (settings_.metrics && Fill(*settings_.metrics, forecast.device)) GiveErrors(forecast);
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
    const bool interval = made.quantiles.size() > 1;
    forecasts_[i] = {made.published,
                     made.model,
                     made.baseline,
                     made.by_model,
                     interval ? made.quantiles.front() : kNone,
                     interval ? made.quantiles.back() : kNone};
  }
  const float skill = static_cast<float>(forecast.predictions.front().skill());
  WriteForecast({forecast.device, forecast.time_ns, times_, targets_, skill, forecast.version},
                settings_.payload.time_form, &text_);
  publish_(topic_, text_, 0, settings_.retain);
}

void StreamAnswers::GiveErrors(const Forecast& forecast) {
  for (std::size_t i = 0; i < errors_.size(); ++i) {
    const Prediction& made = forecast.predictions[i];
    const bool known = made.score.count > 0;
    errors_[i] = {known ? made.score.model : kNone, known ? made.score.baseline : kNone,
                  known ? static_cast<float>(made.skill()) : kNone,
                  static_cast<std::uint64_t>(made.score.count),
                  known && made.quantiles.size() > 1 ? made.score.inside : kNone};
  }
  WriteErrors({forecast.device, forecast.time_ns, target_errors_, forecast.version},
              settings_.payload.time_form, &text_);
  publish_(topic_, text_, 0, settings_.retain);
}

void StreamAnswers::GiveAlarm(const Forecast& forecast) {
  for (std::size_t i = 0; i < target_alarms_.size(); ++i) {
    const auto field = static_cast<std::size_t>(settings_.forecast.targets[i]);
    target_alarms_[i].value = forecast.values[field];
    target_alarms_[i].forecast = forecast.predictions[i * times_.size()].published;
  }
  const bool raised = forecast.alarm == AlarmChange::kRaised;
  WriteAlarm({forecast.device, forecast.time_ns, raised, settings_.alarm->when, target_alarms_},
             settings_.payload.time_form, &text_);
  publish_(topic_, text_, 1, settings_.alarm->retain);
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
