// StreamAnswers: what a stream publishes of each device, and where: forecasts become text
// (server/stream/forecast_text.h), topics are filled with what the device's last topic said.
//
// One thread. Texts and topics keep their memory from one answer to the next.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "server/config_stream.h"
#include "server/stream/forecast_text.h"
#include "server/stream/forecaster.h"

namespace murmurate {

class StreamAnswers {
 public:
  /// `topic` and `payload` are valid during the call. `qos`: 0, but 1 of what is said once. False:
  /// there is no room or no broker just now.
  using Publish =
      std::function<bool(const std::string& topic, std::string_view payload, int qos, bool retain)>;

  /// `settings` outlives it.
  StreamAnswers(const StreamSettings& settings, Publish publish);

  /// A message of this device came with these levels (TopicPattern::Match).
  void Remember(const std::string& device, std::span<const std::string_view> levels);
  /// Publishes the forecast, the errors of those before it, and the alarm if it has changed, where
  /// there is a topic for them.
  void Give(const Forecast& forecast);
  /// The last number of a device that a checkpoint holds: {"device":"a","sequence":41}.
  /// False: try again.
  bool GiveCommitted(const std::string& device, std::uint64_t sequence);

 private:
  bool Fill(const TopicTemplate& pattern, const std::string& device);
  void GiveForecast(const Forecast& forecast);
  void GiveErrors(const Forecast& forecast);
  void GiveAlarm(const Forecast& forecast);

  const StreamSettings& settings_;
  const Publish publish_;
  const bool device_says_all_;  ///< the topics have no other name
  /// Of each device, by its name, what its topic had for the others.
  std::unordered_map<std::string, std::vector<std::string>> levels_;
  std::vector<std::string_view> filling_;
  std::vector<HorizonForecast> forecasts_;
  std::vector<HorizonError> errors_;
  std::vector<TargetForecast> targets_;
  std::vector<TargetErrors> target_errors_;
  std::vector<TargetAlarm> target_alarms_;
  std::vector<std::int64_t> times_;
  std::string topic_, text_;
};

}  // namespace murmurate
