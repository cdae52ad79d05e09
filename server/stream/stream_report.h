// StreamReport: what a stream says of itself: numbers, log lines, and its word on the broker. Only
// reads what the stream consists of.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "murmurate/log.h"
#include "server/metrics/reading.h"
#include "server/stream/batch_feed.h"
#include "server/stream/latest_forecasts.h"
#include "server/stream/mqtt_link.h"
#include "server/stream/sample_server.h"
#include "server/stream/stream_input.h"
#include "shared/wire/actor_messages.h"

namespace murmurate {

class StreamReport {
 public:
  using OnNumbers = std::function<void(std::span<const wire::ReportedNumber>)>;
  /// All of it outlives the report.
  struct Parts {
    const StreamSettings& settings;
    const Forecaster& forecaster;
    const StreamInput& input;
    const BatchFeed& feed;
    const std::unique_ptr<SampleServer>& server;  ///< null: no `listen`
    const std::unique_ptr<MqttLink>& link;        ///< null: no broker
  };

  /// `now_ns`: of a clock that never goes back; `began_ns`: of this life, since 1970 began.
  StreamReport(const Parts& parts, std::function<std::int64_t()> now_ns, std::int64_t began_ns,
               OnNumbers on_numbers, LogCallback log);

  /// Takes what is counted so far as reported in an earlier life.
  void GoOn();
  /// Posts numbers and logs what is new once a second. True: a second is over.
  bool EachSecond(std::int64_t now_ns);
  void Stop();  ///< no other second
  /// Keeps what is shown of the forecast.
  void Take(const Forecast& forecast) { latest_.Take(forecast); }

  /// Those of stream_metrics.h and of latest_forecasts.h.
  Reading Measure() const;
  /// The word on the broker, valid until the next call.
  const std::string& StatusText();

 private:
  struct Logged {
    std::uint64_t count = 0;
    std::int64_t next_ns = 0;
  };
  void PostNumbers() const;
  void LogRefusals(std::int64_t now_ns);
  void LogDrifts();
  void LogStuck();
  void Warn(const std::string& sentence) const;
  std::vector<FieldCounts> CountFields() const;
  void MeasureWays(Reading* reading) const;
  void MeasureMessages(Reading* reading) const;
  void MeasureForecasts(Reading* reading) const;

  const Parts parts_;
  LatestForecasts latest_{parts_.settings.forecast};
  const std::function<std::int64_t()> now_ns_;
  const std::int64_t began_ns_;
  const OnNumbers on_numbers_;
  const LogCallback log_;
  std::int64_t next_second_ns_;
  std::uint64_t messages_before_ = 0, drifts_before_ = 0;
  bool told_of_stuck_ = false;
  double messages_per_s_ = 0;
  std::array<Logged, kRefusals> logged_;
  std::string status_text_;
};

}  // namespace murmurate
