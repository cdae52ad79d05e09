// StreamKeys: the settled keys of one stream, and how each is refused: place, key, what it got,
// what was expected, what to do.
#pragma once

#include <optional>
#include <string>

#include "murmurate/status.h"
#include "server/schema/config_reader.h"
#include "server/schema/config_rules.h"
#include "server/stream/config_stream.h"

namespace murmurate {

/// Of one stream, or of its section [stream.NAME.alarm]; not its fields' sections.
class StreamKeys {
 public:
  /// `section`: of the rules, "stream" or "stream.alarm".
  StreamKeys(const ConfigEntries& entries, const std::string& stream,
             const std::string& section = "stream")
      : entries_(entries),
        section_(section),
        prefix_("stream." + stream + section.substr(std::string_view("stream").size()) + '.') {}

  const ConfigEntry& Entry(const std::string& key) const {
    return entries_.values.at(prefix_ + key);
  }
  /// It says something else than when it is not set: what a resolved config spells out is not
  /// given.
  bool Given(const std::string& key) const {
    return Entry(key).value != FindRule(section_, key)->standard;
  }
  template <typename T>
  std::optional<T> Get(const std::string& key) const {
    return As<T>(Entry(key).value);
  }
  std::string Text(const std::string& key) const { return Get<std::string>(key).value_or(""); }
  int Integer(const std::string& key) const { return AsInt(Entry(key).value); }

  std::string Place(const std::string& key) const {
    return Entry(key).origin + ": " + prefix_ + key + ": ";
  }
  /// "got VALUE, expected " and the rest.
  Status Refuse(const std::string& key, const std::string& expected) const {
    return InvalidArgument(Place(key) + "got " + ToToml(Entry(key).value) + ", expected " +
                           expected);
  }
  Status Blame(const std::string& key, const Status& status) const {
    return InvalidArgument(Place(key) + status.message());
  }
  /// `key` says something where it makes no sense.
  Status Superfluous(const std::string& key, const std::string& because) const {
    return Refuse(key, "no such line, because " + because);
  }

 private:
  const ConfigEntries& entries_;
  const std::string section_, prefix_;
};

/// What makes a key superfluous where samples come by `listen` alone.
inline constexpr const char* kNoBroker =
    "the stream has no broker: samples and their answers go over ZeroMQ (listen); take the line "
    "out, or set broker";

/// Where messages come from, what is in them, and where answers go.
Status ReadStreamMessages(const ConfigEntries& entries, const StreamKeys& keys,
                          StreamSettings* stream);
/// What [stream.NAME.field.FIELD] says, if there is such a section.
Result<FieldSettings> ReadStreamField(const ConfigEntries& entries, const std::string& stream,
                                      const std::string& field);
/// label_topic and what goes with it, after the messages: fills in stream->labels, the targets and
/// the horizon.
Status ReadStreamLabels(const ConfigEntries& entries, const StreamKeys& keys,
                        StreamSettings* stream);
/// [stream.NAME.alarm], if there is one: after the topics, the targets and the quantiles.
Status ReadStreamAlarm(const ConfigEntries& entries, const StreamKeys& keys,
                       StreamSettings* stream);

}  // namespace murmurate
