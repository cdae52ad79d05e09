// The keys of [stream.NAME], [stream.NAME.field.FIELD] and [stream.NAME.alarm], and StreamDraft: a
// stream as they say it, before anything of it is checked against anything else.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/schema/settings_keys.h"
#include "server/stream/config_stream.h"

namespace murmurate {

struct StreamDraft {
  /// The settings so far: those that need no more than to be copied.
  StreamSettings settings;
  int qos = 1;
  std::string subscribe, publish, metrics, committed, label_topic;
  std::vector<std::string> fields, targets, label_header;
  std::optional<std::string> id, device;  ///< places in a payload
  std::string separator = ",";
  int label_window = 256, early_labels = 64;
  ConfigValue horizon = std::vector<std::int64_t>{1};  ///< rows, or durations
  ConfigValue model = std::string("lstm");             ///< or the layers
  int hidden = 32;
  std::optional<double> learning_rate;

  /// Labels come later.
  bool has_labels() const { return !label_topic.empty(); }
  /// They come to the topics of samples.
  bool ShareTopic() const { return label_topic == subscribe; }
  /// A message has its labels itself: horizon = 0.
  bool OwnLabels() const;
  /// The layers of its model, as [model] layers has them.
  ConfigValue Layers() const;
  bool Recurs() const;
  /// The topics of answers, each beside its key.
  std::vector<std::pair<const char*, const std::string*>> Answers() const {
    return {{"publish", &publish},
            {"metrics", &metrics},
            {"committed", &committed},
            {"status", &settings.status}};
  }
};

struct AlarmDraft {
  std::string when, clear, publish;
  int rows = 1;
  bool retain = true;
};

const Keys<StreamDraft>& StreamKeys();
const Keys<FieldSettings>& StreamFieldKeys();
const Keys<AlarmDraft>& StreamAlarmKeys();

/// The reason why a key is superfluous where samples come by `listen` alone.
inline constexpr const char* kNoBroker =
    "the stream has no broker: samples and their answers go over ZeroMQ (listen); take the line "
    "out, or set broker";

/// Reads where messages come from, what is in them, and where answers go.
Status ReadStreamMessages(const ConfigEntries& entries, const SectionView& keys,
                          const StreamDraft& draft, StreamSettings* stream);
/// Reads [stream.NAME.field.FIELD], if there is such a section.
Result<FieldSettings> ReadStreamField(const ConfigEntries& entries, const std::string& stream,
                                      const std::string& field);
/// label_topic and what goes with it, after the messages: fills in stream->labels, the targets and
/// the horizon.
Status ReadStreamLabels(const ConfigEntries& entries, const SectionView& keys,
                        const StreamDraft& draft, StreamSettings* stream);
/// [stream.NAME.alarm], if there is one: after the topics, the targets and the quantiles.
Status ReadStreamAlarm(const ConfigEntries& entries, const StreamDraft& draft,
                       StreamSettings* stream);

}  // namespace murmurate
