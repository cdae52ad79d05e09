// StreamAnswers: what a stream publishes of each device, and where: forecasts become text
// (server/stream/forecast_text.h), topics are filled with what the device's last topic said.
//
// Forecasts go out one by one, errors at most once a second of each device: the first at once, then
// the newest when the second is over, whether or not another message has come.
//
// One thread. Texts and topics keep their memory from one answer to the next.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "server/stream/config_stream.h"
#include "server/stream/forecast.h"
#include "server/stream/forecast_text.h"
#include "server/stream/stream_mailbox.h"

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
  /// Publishes the forecast, the errors of those before it (now or later), and the alarm if it has
  /// changed, where there is a topic for them. `now_ns`: of a clock that never goes back.
  void Give(const Forecast& forecast, std::int64_t now_ns);
  /// The errors that have waited long enough.
  void GiveDue(std::int64_t now_ns);
  void GiveRest();  ///< all errors that wait: nothing else comes
  /// A checkpoint holds these: of each device its last number.
  void Commit(CommittedSequences committed);
  /// All of them are published again: the broker may have forgotten.
  void RestartCommitted() { told_committed_ = 0; }
  /// Publishes one that has not been: {"device":"a","sequence":41}. False: there is none, or no
  /// room for it just now.
  bool GiveNextCommitted();

 private:
  /// Known is what is known of a device besides its name.
  struct Known {
    std::vector<std::string> levels;  ///< of its last topic, where that has other names
    // Its errors, since there was a word of them less than a second ago: it is in told_.
    bool told = false, waits = false;
    std::int64_t next_ns = 0;  ///< for the next word
    std::int64_t time_ns = 0;
    std::uint64_t version = 0;
    std::vector<HorizonError> errors;
  };
  using Devices = std::unordered_map<std::string, Known>;
  using Entry = Devices::value_type;

  Entry& Find(const std::string& device);
  bool Fill(const TopicTemplate& pattern, const std::string& device);
  void GiveForecast(const Forecast& forecast);
  void UpdateErrors(const Forecast& forecast, std::int64_t now_ns);
  void GiveErrors(const std::string& device, Known* known);
  void GiveAlarm(const Forecast& forecast);
  bool GiveCommitted(const std::string& device, std::uint64_t sequence);

  const StreamSettings& settings_;
  const Publish publish_;
  const bool device_says_all_;  ///< the topics have no other name
  Devices devices_;
  std::deque<Entry*> told_;  ///< in the order of their next_ns
  std::vector<std::string_view> filling_;
  std::vector<HorizonForecast> forecasts_;
  std::vector<HorizonError> errors_;
  std::vector<TargetForecast> targets_;
  std::vector<TargetErrors> target_errors_;
  std::vector<TargetAlarm> target_alarms_;
  std::vector<std::int64_t> times_;
  std::string topic_, text_;
  CommittedSequences committed_;
  std::size_t told_committed_ = 0;  ///< how many of them
};

}  // namespace murmurate
