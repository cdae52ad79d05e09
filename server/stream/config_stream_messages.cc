// Reads what [stream.NAME] says of its broker, its topics and its messages.
#include <algorithm>
#include <set>
#include <utility>

#include "server/stream/mqtt_address.h"
#include "server/stream/stream_keys.h"
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

SectionView FieldView(const ConfigEntries& entries, const std::string& stream,
                      const std::string& field) {
  return StreamFieldKeys().ViewAt(entries, "stream." + stream + ".field." + field + '.');
}

Status CheckLink(const SectionView& keys, const StreamSettings& stream) {
  const MqttSettings& link = stream.link;
  const auto address = ParseMqttAddress(link.broker);
  if (!address.ok()) {
    std::string place =
        keys.Locate("broker");  // of --set it holds the address, and that a password
    if (place.starts_with("--set ")) place = "--set: stream." + stream.name + ".broker: ";
    return InvalidArgument(place + address.status().message());
  }
  if (link.user.empty())
    MURMURATE_RETURN_IF_ERROR(keys.NoneOf({"password_file", "password_env"},
                                          "there is no user beside it; write for example user = "
                                          "\"murmurate\""));
  if (!stream.password_file.empty() && !stream.password_env.empty())
    return keys.Superfluous("password_env",
                            "password_file holds the password; take one of the "
                            "two out");
  const char* key = nullptr;
  if (Status status = CheckTlsFiles(link, *address, &key); !status.ok())
    return keys.Blame(key, status);
  return {};
}

/// Refuses the keys of a broker, which the stream does not have.
Status RefuseTopics(const SectionView& keys) {
  return keys.NoneOf({"subscribe",    "publish",  "metrics",          "committed",  "status",
                      "retain",       "protocol", "client_id",        "user",       "password_file",
                      "password_env", "ca_file",  "certificate_file", "key_file",   "qos",
                      "format",       "header",   "separator",        "max_bytes",  "time",
                      "time_unit",    "sequence", "device",           "label_topic"},
                     kNoBroker);
}

/// Whether `topic` has no {names} but those in `allowed`.
bool NamesOnly(std::string topic, const std::string& allowed) {
  if (!allowed.empty())
    for (auto at = topic.find(allowed); at != topic.npos; at = topic.find(allowed))
      topic.erase(at, allowed.size());
  return topic.find('{') == topic.npos;
}

Status ReadAnswers(const SectionView& keys, const StreamDraft& draft, StreamSettings* stream) {
  std::set<std::string> taken;
  for (const auto& [key, text] : draft.Answers()) {
    if (text->empty()) continue;
    auto topic = TopicTemplate::Parse(*text, stream->subscribe);
    if (!topic.ok()) return keys.Blame(key, topic.status());
    if (!taken.insert(*text).second)
      return keys.Refuse(key, "a topic of its own, because another answer goes there; choose one");
    if (text == &draft.publish) stream->publish = *std::move(topic);
    if (text == &draft.metrics) stream->metrics = *std::move(topic);
    if (text == &draft.committed) stream->committed = *std::move(topic);
  }
  if (!NamesOnly(draft.committed, "{device}"))
    return keys.Refuse("committed",
                       "no name but {device}, because nothing else is known of a device when a "
                       "checkpoint is written; write for example \"sensors/{device}/committed\"");
  if (!NamesOnly(stream->status, ""))
    return keys.Refuse("status",
                       "a topic without names, because it speaks for the whole stream; write for "
                       "example \"sensors/forecaster\"");
  if (stream->committed && !stream->payload.sequence)
    return keys.Superfluous("committed",
                            "the messages have no numbers that it could tell; write "
                            "for example sequence = \"/seq\"");
  if (keys.Given("retain") && taken.empty())
    return keys.Superfluous("retain", "nothing is published; set publish");
  return {};
}

Status ReadTopics(const SectionView& keys, const StreamDraft& draft, StreamSettings* stream) {
  if (draft.subscribe.empty())
    return InvalidArgument(stream->origin +
                           ": says nothing of topics to read; write for example subscribe = "
                           "\"sensors/{device}/data\"");
  auto subscribe = TopicPattern::Parse(draft.subscribe, draft.device.has_value());
  if (!subscribe.ok()) return keys.Blame("subscribe", subscribe.status());
  if (draft.device && !draft.has_labels() && subscribe->has_device())
    return keys.Superfluous(
        "device", "subscribe has a {device} that says who sends; take one of the two out");
  stream->subscribe = *std::move(subscribe);
  stream->link.subscriptions = {{stream->subscribe.filter(), draft.qos}};
  return ReadAnswers(keys, draft, stream);
}

Status CheckFieldName(const SectionView& keys, const char* key, const std::string& name,
                      const std::string& stream) {
  if (IsFieldName(name)) return {};
  return keys.Refuse(key,
                     "names of 1 to 32 of a-z 0-9 _; call it so, and say where a "
                     "message has it: [stream." +
                         stream + ".field.NAME] with pointer = \"/...\"");
}

/// Adds what a message has under this name to `fields`, and to its payload.
Status AddField(const ConfigEntries& entries, const std::string& name,
                std::vector<StreamField>* fields, StreamSettings* stream) {
  auto field = ReadStreamField(entries, stream->name, name);
  if (!field.ok()) return field.status();
  if (field->pointer && !stream->has_broker)  // numbers of a client lie in the fields' order
    return FieldView(entries, stream->name, name).Superfluous("pointer", kNoBroker);
  fields->push_back({name, field->unit});
  stream->payload.fields.push_back(*std::move(field));
  return {};
}

Status ReadFields(const ConfigEntries& entries, const SectionView& keys, const StreamDraft& draft,
                  StreamSettings* stream) {
  if (draft.fields.empty())
    return InvalidArgument(stream->origin +
                           ": says nothing of what is in a message; write for example fields = "
                           "[\"temp\", \"hum\"]");
  Strings names = draft.fields;
  for (const std::string& name : names) {
    MURMURATE_RETURN_IF_ERROR(CheckFieldName(keys, "fields", name, stream->name));
    MURMURATE_RETURN_IF_ERROR(AddField(entries, name, &stream->forecast.fields, stream));
  }
  if (draft.has_labels() || draft.OwnLabels())
    for (const std::string& name : draft.targets) {
      MURMURATE_RETURN_IF_ERROR(CheckFieldName(keys, "target", name, stream->name));
      const bool known = std::ranges::find(names, name) != names.end();
      names.push_back(name);
      if (draft.has_labels() || known) continue;
      MURMURATE_RETURN_IF_ERROR(AddField(entries, name, &stream->forecast.labels, stream));
    }
  for (const auto& [name, origin] : entries.streams.at(stream->name).fields)
    if (std::find(names.begin(), names.end(), name) == names.end())
      return InvalidArgument(origin + ": [stream." + stream->name + ".field." + name +
                             "]: there is no such field; add \"" + name +
                             "\" to fields, or take the section out");
  return {};
}

Status ReadPayload(const SectionView& keys, const StreamDraft& draft, StreamSettings* stream) {
  PayloadSettings& payload = stream->payload;
  if (!stream->subscribe.has_device()) payload.device = draft.device;
  stream->link.maximum_message_bytes = payload.max_bytes + kTopicRoom;
  if (keys.Given("time_unit") && !payload.time)
    return keys.Superfluous("time_unit",
                            "the messages have no time; write for example time = "
                            "\"/time\"");
  if (payload.format != PayloadFormat::kCsv)
    MURMURATE_RETURN_IF_ERROR(keys.NoneOf(
        {"header", "separator"}, "only CSV has columns; take it out, or write format = \"csv\""));
  if (draft.separator.size() != 1)
    return keys.Refuse("separator", "one of \",\", \";\", \"|\" or a tab; choose one");
  payload.separator = draft.separator.front();
  const bool has_places =
      payload.format == PayloadFormat::kJson || payload.format == PayloadFormat::kCsv;
  if (draft.has_labels() && has_places) payload.id = draft.id;
  const auto reader = PayloadReader::Make(payload);
  if (reader.ok()) return {};
  return InvalidArgument(stream->origin + ": " + reader.status().message());
}

}  // namespace

Result<FieldSettings> ReadStreamField(const ConfigEntries& entries, const std::string& stream,
                                      const std::string& name) {
  const SectionView keys = FieldView(entries, stream, name);
  FieldSettings field = StreamFieldKeys().Read(keys);
  field.name = name;
  if (field.min && field.max && *field.min >= *field.max)
    return keys.Refuse("high",
                       "more than low (" + ToToml(ConfigValue(*field.min)) + "); exchange the two");
  return field;
}

Status ReadStreamMessages(const ConfigEntries& entries, const SectionView& keys,
                          const StreamDraft& draft, StreamSettings* stream) {
  stream->has_broker = stream->listen.empty() || keys.Given("broker");
  if (stream->has_broker) {
    MURMURATE_RETURN_IF_ERROR(CheckLink(keys, *stream));
    MURMURATE_RETURN_IF_ERROR(ReadTopics(keys, draft, stream));
  } else {
    MURMURATE_RETURN_IF_ERROR(RefuseTopics(keys));
  }
  MURMURATE_RETURN_IF_ERROR(ReadFields(entries, keys, draft, stream));
  return stream->has_broker ? ReadPayload(keys, draft, stream) : Status();
}

}  // namespace murmurate
