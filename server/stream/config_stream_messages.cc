// What [stream.NAME] says of its broker, its topics and its messages.
#include <algorithm>
#include <set>
#include <utility>

#include "server/stream/config_stream_keys.h"
#include "server/stream/mqtt_address.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

using Strings = std::vector<std::string>;
constexpr std::size_t kMaxFieldName = 32;
constexpr std::size_t kTopicRoom = 64 << 10;  ///< in a message beside its payload

bool IsFieldName(const std::string& name) {
  return !name.empty() && name.size() <= kMaxFieldName &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
         });
}

Status ReadLink(const StreamKeys& keys, StreamSettings* stream) {
  MqttSettings& link = stream->link;
  link.broker = keys.Text("broker");
  const auto address = ParseMqttAddress(link.broker);
  if (!address.ok()) {
    std::string place = keys.Place("broker");  // of --set it holds the address, and that a password
    if (place.starts_with("--set ")) place = "--set: stream." + stream->name + ".broker: ";
    return InvalidArgument(place + address.status().message());
  }
  link.protocol = keys.Text("protocol") == "5" ? MqttProtocol::k5 : MqttProtocol::k311;
  link.client_id = keys.Text("client_id");
  link.user = keys.Text("user");
  link.ca_file = keys.Text("ca_file");
  link.certificate_file = keys.Text("certificate_file");
  link.key_file = keys.Text("key_file");
  stream->password_file = keys.Text("password_file");
  stream->password_env = keys.Text("password_env");
  for (const char* key : {"password_file", "password_env"})
    if (keys.Given(key) && link.user.empty())
      return keys.Superfluous(key,
                              "there is no user beside it; write for example user = "
                              "\"murmurate\"");
  if (!stream->password_file.empty() && !stream->password_env.empty())
    return keys.Superfluous("password_env",
                            "password_file holds the password; take one of the "
                            "two out");
  const char* key = nullptr;
  if (Status status = CheckTlsFiles(link, *address, &key); !status.ok())
    return keys.Blame(key, status);
  return {};
}

/// Keys of a way that is not there.
Status RefuseTopics(const StreamKeys& keys) {
  for (const char* key :
       {"subscribe",    "publish",  "metrics",          "committed",  "status",
        "retain",       "protocol", "client_id",        "user",       "password_file",
        "password_env", "ca_file",  "certificate_file", "key_file",   "qos",
        "format",       "header",   "separator",        "max_bytes",  "time",
        "time_unit",    "sequence", "device",           "label_topic"})
    if (keys.Given(key)) return keys.Superfluous(key, kNoBroker);
  return {};
}

Status ReadListen(const StreamKeys& keys, StreamSettings* stream) {
  stream->listen = keys.Text("listen");
  stream->has_broker = keys.Given("broker");
  return stream->has_broker ? Status() : RefuseTopics(keys);
}

/// Of {names} only those in `allowed`.
bool NamesOnly(std::string topic, const std::string& allowed) {
  if (!allowed.empty())
    for (auto at = topic.find(allowed); at != topic.npos; at = topic.find(allowed))
      topic.erase(at, allowed.size());
  return topic.find('{') == topic.npos;
}

Status ReadAnswers(const StreamKeys& keys, StreamSettings* stream) {
  std::optional<TopicTemplate> status;
  std::set<std::string> taken;
  for (const auto& [key, place] :
       {std::pair{"publish", &stream->publish}, std::pair{"metrics", &stream->metrics},
        std::pair{"committed", &stream->committed}, std::pair{"status", &status}}) {
    if (!keys.Given(key)) continue;
    auto topic = TopicTemplate::Parse(keys.Text(key), stream->subscribe);
    if (!topic.ok()) return keys.Blame(key, topic.status());
    if (!taken.insert(keys.Text(key)).second)
      return keys.Refuse(key, "a topic of its own, because another answer goes there; choose one");
    *place = *std::move(topic);
  }
  if (!NamesOnly(keys.Text("committed"), "{device}"))
    return keys.Refuse("committed",
                       "no name but {device}, because nothing else is known of a device when a "
                       "checkpoint is written; write for example \"sensors/{device}/committed\"");
  if (!NamesOnly(keys.Text("status"), ""))
    return keys.Refuse("status",
                       "a topic without names, because it speaks for the whole stream; write for "
                       "example \"sensors/forecaster\"");
  if (stream->committed && !keys.Given("sequence"))
    return keys.Superfluous("committed",
                            "the messages have no numbers that it could tell; write "
                            "for example sequence = \"/seq\"");
  if (keys.Given("retain") && taken.empty())
    return keys.Superfluous("retain", "nothing is published; set publish");
  stream->status = keys.Text("status");
  stream->retain = *keys.Get<bool>("retain");
  return {};
}

Status ReadTopics(const StreamKeys& keys, StreamSettings* stream) {
  if (!keys.Given("subscribe"))
    return InvalidArgument(stream->origin +
                           ": says nothing of topics to read; write for example subscribe = "
                           "\"sensors/{device}/data\"");
  auto subscribe = TopicPattern::Parse(keys.Text("subscribe"), keys.Given("device"));
  if (!subscribe.ok()) return keys.Blame("subscribe", subscribe.status());
  if (keys.Given("device") && !keys.Given("label_topic") && subscribe->has_device())
    return keys.Superfluous(
        "device", "subscribe has a {device} that says who sends; take one of the two out");
  stream->subscribe = *std::move(subscribe);
  stream->link.subscriptions = {{stream->subscribe.filter(), keys.Integer("qos")}};
  return ReadAnswers(keys, stream);
}

class FieldReader {
 public:
  FieldReader(const ConfigEntries& entries, const std::string& stream)
      : entries_(entries), stream_(stream) {}

  Result<FieldSettings> Read(const std::string& name) const {
    FieldSettings field{name};
    field.pointer = Get<std::string>(name, "pointer");
    field.unit = Get<std::string>(name, "unit").value_or("");
    field.min = Get<double>(name, "low");
    field.max = Get<double>(name, "high");
    if (field.min && field.max && *field.min >= *field.max) {
      const ConfigEntry& high = entries_.values.at(PathOf(name, "high"));
      return InvalidArgument(high.origin + ": " + PathOf(name, "high") + ": got " +
                             ToToml(high.value) + ", expected more than low (" +
                             ToToml(ConfigValue(*field.min)) + "); exchange the two");
    }
    return field;
  }

 private:
  template <typename T>
  std::optional<T> Get(const std::string& field, const char* key) const {
    const auto found = entries_.values.find(PathOf(field, key));
    return found == entries_.values.end() ? std::nullopt : As<T>(found->second.value);
  }
  std::string PathOf(const std::string& field, const char* key) const {
    return "stream." + stream_ + ".field." + field + '.' + key;
  }

  const ConfigEntries& entries_;
  const std::string& stream_;
};

/// Numbers of a client's sample lie in the order of the fields.
Status RefusePointer(const ConfigEntries& entries, const std::string& stream,
                     const std::string& field) {
  const std::string path = "stream." + stream + ".field." + field + ".pointer";
  const ConfigEntry& entry = entries.values.at(path);
  return InvalidArgument(entry.origin + ": " + path + ": got " + ToToml(entry.value) +
                         ", expected no such line, because " + kNoBroker);
}

Status CheckFieldName(const StreamKeys& keys, const char* key, const std::string& name,
                      const std::string& stream) {
  if (IsFieldName(name)) return {};
  return keys.Refuse(key,
                     "names of 1 to 32 of a-z 0-9 _; call it so, and say where a "
                     "message has it: [stream." +
                         stream + ".field.NAME] with pointer = \"/...\"");
}

Status ReadFields(const ConfigEntries& entries, const StreamKeys& keys, StreamSettings* stream) {
  if (!keys.Given("fields"))
    return InvalidArgument(stream->origin +
                           ": says nothing of what is in a message; write for example fields = "
                           "[\"temp\", \"hum\"]");
  Strings names = *keys.Get<Strings>("fields");
  for (const std::string& name : names) {
    MURMURATE_RETURN_IF_ERROR(CheckFieldName(keys, "fields", name, stream->name));
    auto field = ReadStreamField(entries, stream->name, name);
    if (!field.ok()) return field.status();
    if (field->pointer && !stream->has_broker) return RefusePointer(entries, stream->name, name);
    stream->forecast.fields.push_back({name, field->unit});
    stream->payload.fields.push_back(*std::move(field));
  }
  if (keys.Given("label_topic"))
    for (const std::string& name : keys.Get<Strings>("target").value_or(Strings{})) {
      MURMURATE_RETURN_IF_ERROR(CheckFieldName(keys, "target", name, stream->name));
      names.push_back(name);
    }
  for (const auto& [name, origin] : entries.streams.at(stream->name).fields)
    if (std::find(names.begin(), names.end(), name) == names.end())
      return InvalidArgument(origin + ": [stream." + stream->name + ".field." + name +
                             "]: there is no such field; add \"" + name +
                             "\" to fields, or take the section out");
  return {};
}

Status ReadPayload(const StreamKeys& keys, StreamSettings* stream) {
  PayloadSettings& payload = stream->payload;
  payload.format = *PayloadFormatOf(keys.Text("format"));
  payload.time = keys.Get<std::string>("time");
  payload.sequence = keys.Get<std::string>("sequence");
  if (!stream->subscribe.has_device()) payload.device = keys.Get<std::string>("device");
  payload.time_form = *TimeFormOf(keys.Text("time_unit"));
  payload.header = *keys.Get<Strings>("header");
  payload.max_bytes = static_cast<std::size_t>(keys.Integer("max_bytes"));
  stream->link.maximum_message_bytes = payload.max_bytes + kTopicRoom;
  if (keys.Given("time_unit") && !payload.time)
    return keys.Superfluous("time_unit",
                            "the messages have no time; write for example time = "
                            "\"/time\"");
  for (const char* key : {"header", "separator"})
    if (keys.Given(key) && payload.format != PayloadFormat::kCsv)
      return keys.Superfluous(key, "only CSV has columns; take it out, or write format = \"csv\"");
  if (keys.Text("separator").size() != 1)
    return keys.Refuse("separator", "one of \",\", \";\", \"|\" or a tab; choose one");
  payload.separator = keys.Text("separator").front();
  const bool has_places =
      payload.format == PayloadFormat::kJson || payload.format == PayloadFormat::kCsv;
  if (keys.Given("label_topic") && has_places) payload.id = keys.Get<std::string>("id");
  const auto reader = PayloadReader::Make(payload);
  if (reader.ok()) return {};
  return InvalidArgument(stream->origin + ": " + reader.status().message());
}

}  // namespace

Result<FieldSettings> ReadStreamField(const ConfigEntries& entries, const std::string& stream,
                                      const std::string& field) {
  return FieldReader(entries, stream).Read(field);
}

Status ReadStreamMessages(const ConfigEntries& entries, const StreamKeys& keys,
                          StreamSettings* stream) {
  MURMURATE_RETURN_IF_ERROR(ReadListen(keys, stream));
  if (stream->has_broker) {
    MURMURATE_RETURN_IF_ERROR(ReadLink(keys, stream));
    MURMURATE_RETURN_IF_ERROR(ReadTopics(keys, stream));
  }
  MURMURATE_RETURN_IF_ERROR(ReadFields(entries, keys, stream));
  return stream->has_broker ? ReadPayload(keys, stream) : Status();
}

}  // namespace murmurate
