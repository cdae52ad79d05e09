// StreamSettings: what [stream.NAME] and the [stream.NAME.field.FIELD] and [stream.NAME.alarm] in
// it come to, checked, in the words of the parts of a stream (server/stream).
//
//   [stream.temp]
//   subscribe = "sensors/{device}/data"
//   fields = ["temp", "hum"]
//   target = "temp"
//   publish = "sensors/{device}/forecast"
//
//   [stream.temp.field.hum]
//   pointer = "/climate/humidity"
//
// With `listen = "tcp://127.0.0.1:7430"` samples come over ZeroMQ; alone, without subscribe and all
// that a broker needs.
//
// A stream has a model of its own name, which these keys describe: what they say goes to
// [model.NAME], [model.NAME.algorithm] and [model.NAME.optimizer], as if it stood there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "murmurate/spaces.h"
#include "murmurate/status.h"
#include "server/schema/config_reader.h"
#include "server/stream/mqtt_settings.h"
#include "server/stream/payload.h"
#include "server/stream/stream_settings.h"
#include "server/stream/topic_pattern.h"
#include "shared/trajectory/trajectory.h"

namespace murmurate {

/// StreamAlarm is how an alarm is published; ForecastSettings has its conditions.
struct StreamAlarm {
  std::string when;                      ///< as it is written
  std::optional<TopicTemplate> publish;  ///< none: there is no broker
  bool retain = true;                    ///< the broker keeps the last of each device
};

/// StreamLabelSettings describes labels that come later than their rows.
struct StreamLabelSettings {
  TopicPattern topic;
  PayloadSettings payload;  ///< its fields are the targets
  /// Labels come to the topics of samples: StreamSettings::payload has the targets after the fields,
  /// and `payload` is not used.
  bool share_topic = false;
};

struct StreamSettings {
  std::string name, origin;  ///< "temp", "sensors.toml:1: [stream.temp]"
  bool has_broker = true;
  std::string listen;  ///< where it takes samples itself; "": nowhere, and has_broker
  /// The broker's settings without those read when the stream starts: password and `insecure`.
  MqttSettings link;
  std::string password_file, password_env;  ///< at most one is set
  TopicPattern subscribe;
  std::optional<TopicTemplate> publish, metrics, committed;
  std::optional<StreamAlarm> alarm;
  std::string status;  ///< a topic; "": not said
  bool retain = true;  ///< the broker keeps the last forecast and error of each device
  PayloadSettings payload;
  std::optional<StreamLabelSettings> labels;
  ForecastSettings forecast;
  bool recurrent = true;   ///< else the model sees a window of rows at once
  int max_batch = 64;      ///< sequences, or rows of a model that does not recur
  int max_delay_ms = 0;    ///< that a pair may wait for others to be learned with
  int replay = 0;          ///< sequences (or rows) kept to be learned again; 0: none
  std::uint64_t seed = 1;  ///< run.seed: what of them is drawn

  /// The model's spaces: a row, or a window of them; what is forecast.
  Spaces spaces() const;
  /// The layout of the batches that its model learns from.
  TrajectoryLayout layout(const ModelSpec& spec) const;
};

/// Fills in what the streams leave unset, and what the keys of their models come to. The status: a
/// key of a model that says something else.
Status ResolveStreams(ConfigEntries* entries);
/// The settings of stream `name`; ResolveStreams must have filled in the defaults of `entries`.
Result<StreamSettings> ReadStreamSettings(const ConfigEntries& entries, const std::string& name);

}  // namespace murmurate
