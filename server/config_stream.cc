#include "server/config_stream.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "server/config_rules.h"
#include "server/model_words.h"
#include "server/stream/device.h"
#include "server/stream/mqtt_address.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

using Integers = std::vector<std::int64_t>;
using Strings = std::vector<std::string>;
constexpr std::size_t kMaxFieldName = 32;
constexpr std::size_t kTopicRoom = 64 << 10;  ///< in a message beside its payload

bool IsDefault(const ConfigEntry& entry) { return entry.origin.starts_with("default"); }

bool IsFieldName(const std::string& name) {
  return !name.empty() && name.size() <= kMaxFieldName &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
         });
}

/// Of one stream, all but its fields' sections.
class Keys {
 public:
  Keys(const ConfigEntries& entries, const std::string& stream)
      : entries_(entries), prefix_("stream." + stream + '.') {}

  const ConfigEntry& Entry(const std::string& key) const { return entries_.values.at(prefix_ + key); }
  bool Given(const std::string& key) const { return !IsDefault(Entry(key)); }
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
  const std::string prefix_;
};

/// Of its model, as [model] layers has them.
ConfigValue LayersOf(const Keys& keys) {
  const ConfigValue& model = keys.Entry("model").value;
  const auto* name = std::get_if<std::string>(&model);
  if (name == nullptr) return model;
  const std::string units = std::to_string(keys.Integer("hidden"));
  if (*name == "mlp") return Strings{"dense " + units, "dense " + units};
  return Strings{*name + ' ' + units};
}

bool RecursOf(const Keys& keys) {
  ModelWords words;
  words.layers = As<Strings>(LayersOf(keys)).value_or(Strings{});
  return Recurs(words);
}

/// A key of the model, what the stream makes of it, and the stream's own key that does.
struct Demand {
  std::string section, key;
  ConfigValue value;
  std::string own;
};

std::vector<Demand> DemandsOf(const Keys& keys) {
  const std::int64_t length = RecursOf(keys) ? keys.Integer("window") : 1;
  const std::int64_t steps = length * keys.Integer("max_batch");
  const ConfigValue unset;
  std::vector<Demand> demands{{"model", "layers", LayersOf(keys), "model"},
                              {"model", "recurrent", unset, "model"},
                              {"model", "trunk", std::string("mlp"), "model"},
                              {"model", "inputs", Strings{}, "model"},
                              {"model", "frame_stack", std::int64_t{1}, "window"},
                              {"model", "separate_value", false, ""},
                              {"model", "squashed", false, ""},
                              {"model", "state_dependent_deviation", false, ""},
                              {"model", "normalize_observation", false, "normalize_over"},
                              {"algorithm", "name", std::string("supervised"), ""},
                              {"algorithm", "trajectory_length", length, "window"},
                              {"algorithm", "batch_steps", steps, "max_batch"},
                              {"algorithm", "minibatch", steps, "max_batch"},
                              {"algorithm", "epochs", std::int64_t{1}, ""},
                              {"algorithm", "burn_in", std::int64_t{0}, ""}};
  if (!RecursOf(keys)) demands.push_back({"model", "keep_bias", unset, "model"});
  if (keys.Given("learning_rate"))
    demands.push_back(
        {"optimizer", "learning_rate", keys.Entry("learning_rate").value, "learning_rate"});
  return demands;
}

Status SettleModel(ConfigEntries* entries, const std::string& stream) {
  const Keys keys(*entries, stream);
  const std::string section = "[stream." + stream + ']';
  for (Demand& demand : DemandsOf(keys)) {
    const std::string path = PathOf(demand.section, demand.key, stream);
    const auto [entry, fresh] =
        entries->values.try_emplace(path, ConfigEntry{demand.value, section});
    if (fresh || entry->second.value == demand.value) continue;
    const bool unset = std::holds_alternative<std::monostate>(demand.value);
    return InvalidArgument(entry->second.origin + ": " + path + ": got " +
                           ToToml(entry->second.value) + ", expected " +
                           (unset ? "no such line" : ToToml(demand.value)) + ", because " +
                           section + " describes this model; take the line out" +
                           (demand.own.empty() ? "" : ", or set " + demand.own + " there"));
  }
  entries->models.insert(stream);
  return {};
}

Status ReadLink(const Keys& keys, StreamSettings* stream) {
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
      return keys.Superfluous(key, "there is no user beside it; write for example user = "
                                   "\"murmurate\"");
  if (!stream->password_file.empty() && !stream->password_env.empty())
    return keys.Superfluous("password_env", "password_file holds the password; take one of the "
                                            "two out");
  for (const char* key : {"ca_file", "certificate_file", "key_file"})
    if (keys.Given(key) && !address->secure)
      return keys.Superfluous(key, "the broker is spoken to without TLS; write broker = \"mqtts://" +
                                       address->host + "\", or take the line out");
  const char* const lone = link.key_file.empty() ? "certificate_file" : "key_file";
  if (link.key_file.empty() != link.certificate_file.empty())
    return keys.Blame(lone, InvalidArgument("a certificate and its key go together; set both "
                                            "certificate_file and key_file, or neither"));
  return {};
}

/// Of {names} only those in `allowed`.
bool NamesOnly(std::string topic, const std::string& allowed) {
  if (!allowed.empty())
    for (auto at = topic.find(allowed); at != topic.npos; at = topic.find(allowed))
      topic.erase(at, allowed.size());
  return topic.find('{') == topic.npos;
}

Status ReadAnswers(const Keys& keys, StreamSettings* stream) {
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
    return keys.Superfluous("committed", "the messages have no numbers that it could tell; write "
                                         "for example sequence = \"/seq\"");
  if (keys.Given("retain") && taken.empty())
    return keys.Superfluous("retain", "nothing is published; set publish");
  stream->status = keys.Text("status");
  stream->retain = *keys.Get<bool>("retain");
  return {};
}

Status ReadTopics(const Keys& keys, StreamSettings* stream) {
  if (!keys.Given("subscribe"))
    return InvalidArgument(stream->origin +
                           ": says nothing of topics to read; write for example subscribe = "
                           "\"sensors/{device}/data\"");
  auto subscribe = TopicPattern::Parse(keys.Text("subscribe"));
  if (!subscribe.ok()) return keys.Blame("subscribe", subscribe.status());
  stream->subscribe = *std::move(subscribe);
  stream->link.subscriptions = {{stream->subscribe.filter(), keys.Integer("qos")}};
  return ReadAnswers(keys, stream);
}

class FieldReader {
 public:
  FieldReader(const ConfigEntries& entries, const std::string& stream)
      : entries_(entries), stream_(stream) {}

  Status Read(const Keys& keys, StreamSettings* stream) const {
    if (!keys.Given("fields"))
      return InvalidArgument(stream->origin +
                             ": says nothing of what is in a message; write for example fields = "
                             "[\"temp\", \"hum\"]");
    const Strings names = *keys.Get<Strings>("fields");
    for (const std::string& name : names) {
      if (!IsFieldName(name))
        return keys.Refuse("fields", "names of 1 to 32 of a-z 0-9 _; call it so, and say where a "
                                     "message has it: [stream." + stream_ +
                                     ".field.NAME] with pointer = \"/...\"");
      MURMURATE_RETURN_IF_ERROR(Add(name, stream));
    }
    for (const auto& [name, origin] : entries_.streams.at(stream_).fields)
      if (std::find(names.begin(), names.end(), name) == names.end())
        return InvalidArgument(origin + ": [stream." + stream_ + ".field." + name +
                               "]: there is no such field; add \"" + name +
                               "\" to fields, or take the section out");
    return {};
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

  Status Add(const std::string& name, StreamSettings* stream) const {
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
    StreamField forecast{name, field.pointer.value_or(""), field.unit};
    forecast.low = field.min.value_or(forecast.low);
    forecast.high = field.max.value_or(forecast.high);
    stream->forecast.fields.push_back(std::move(forecast));
    stream->payload.fields.push_back(std::move(field));
    return {};
  }

  const ConfigEntries& entries_;
  const std::string stream_;
};

Status ReadPayload(const Keys& keys, StreamSettings* stream) {
  PayloadSettings& payload = stream->payload;
  payload.format = *PayloadFormatOf(keys.Text("format"));
  payload.time = keys.Get<std::string>("time");
  payload.sequence = keys.Get<std::string>("sequence");
  payload.time_form = *TimeFormOf(keys.Text("time_unit"));
  payload.header = *keys.Get<Strings>("header");
  payload.max_bytes = static_cast<std::size_t>(keys.Integer("max_bytes"));
  stream->link.maximum_message_bytes = payload.max_bytes + kTopicRoom;
  if (keys.Given("time_unit") && !payload.time)
    return keys.Superfluous("time_unit", "the messages have no time; write for example time = "
                                         "\"/time\"");
  for (const char* key : {"header", "separator"})
    if (keys.Given(key) && payload.format != PayloadFormat::kCsv)
      return keys.Superfluous(key, "only CSV has columns; take it out, or write format = \"csv\"");
  if (keys.Text("separator").size() != 1)
    return keys.Refuse("separator", "one of \",\", \";\", \"|\" or a tab; choose one");
  payload.separator = keys.Text("separator").front();
  const auto reader = PayloadReader::Make(payload);
  if (reader.ok()) return {};
  return InvalidArgument(stream->origin + ": " + reader.status().message());
}

/// Rows to each horizon.
Result<std::vector<int>> ReadHorizons(const Keys& keys, double every_s) {
  std::set<int> rows;
  const auto add = [&](double count) -> Status {
    if (!(count >= 1) || count > 4096 || std::abs(count - std::round(count)) > 1e-6)
      return keys.Refuse("horizon", "1 to 4096 times `every` (" + keys.Text("every") +
                                        "); write for example horizon = \"" + keys.Text("every") +
                                        "\"");
    if (!rows.insert(static_cast<int>(std::lround(count))).second)
      return keys.Refuse("horizon", "each horizon once; take one of the two out");
    return {};
  };
  if (const auto counts = keys.Get<Integers>("horizon"))
    for (const std::int64_t count : *counts)
      MURMURATE_RETURN_IF_ERROR(add(static_cast<double>(count)));
  if (const auto times = keys.Get<Strings>("horizon")) {
    if (every_s <= 0)
      return keys.Refuse("horizon", "a number of rows, because without `every` a row is a message, "
                                    "whenever it comes; write horizon = 1, or for example every = "
                                    "\"10s\"");
    for (const std::string& time : *times)
      MURMURATE_RETURN_IF_ERROR(add(*SecondsIn(time) / every_s));
  }
  return std::vector<int>(rows.begin(), rows.end());
}

Status ReadTargets(const Keys& keys, StreamSettings* stream) {
  if (!keys.Given("target"))
    return InvalidArgument(stream->origin +
                           ": says nothing of what is to be forecast; write for example target = "
                           "\"" + stream->forecast.fields.front().name + "\"");
  const auto& fields = stream->forecast.fields;
  for (const std::string& name : *keys.Get<Strings>("target")) {
    const auto field = std::ranges::find(fields, name, &StreamField::name);
    if (field == fields.end())
      return keys.Refuse("target", "some of the fields; write for example target = \"" +
                                       fields.front().name + "\"");
    const int index = static_cast<int>(field - fields.begin());
    if (std::ranges::count(stream->forecast.targets, index) > 0)
      return keys.Refuse("target", "each field once; take one of the two out");
    stream->forecast.targets.push_back(index);
  }
  return {};
}

Status ReadModel(const Keys& keys, StreamSettings* stream) {
  ForecastSettings& forecast = stream->forecast;
  stream->recurrent = RecursOf(keys);
  forecast.window = keys.Integer("window");
  forecast.per_device_state = keys.Text("state") == "per-device";
  forecast.learn = *keys.Get<bool>("learn");
  stream->max_batch = keys.Integer("max_batch");
  stream->max_delay_ms = keys.Integer("max_delay_ms");
  if (keys.Given("hidden") && !keys.Get<std::string>("model"))
    return keys.Superfluous("hidden", "model lists its layers, each with its units; take it out");
  if (keys.Given("state") && !stream->recurrent)
    return keys.Superfluous("state", "a model that does not recur has none; take it out, or write "
                                     "model = \"lstm\"");
  for (const char* key : {"max_delay_ms", "learning_rate"})
    if (keys.Given(key) && !forecast.learn)
      return keys.Superfluous(key, "nothing is learned; take it out, or write learn = true");
  return {};
}

Status ReadForecast(const Keys& keys, StreamSettings* stream) {
  using Forecast = ForecastSettings;
  Forecast& forecast = stream->forecast;
  forecast.every_s = keys.Given("every") ? *SecondsIn(keys.Text("every")) : 0.0;
  if (keys.Given("resample") && forecast.every_s <= 0)
    return keys.Superfluous("resample", "each message is a row of its own; take it out, or write "
                                        "for example every = \"10s\"");
  const std::string resample = keys.Text("resample"), missing = keys.Text("missing");
  forecast.resample = resample == "mean"  ? Forecast::Resample::kMean
                      : resample == "sum" ? Forecast::Resample::kSum
                                          : Forecast::Resample::kLast;
  forecast.missing = missing == "skip"    ? Forecast::Missing::kSkip
                     : missing == "error" ? Forecast::Missing::kError
                                          : Forecast::Missing::kHold;
  auto horizons = ReadHorizons(keys, forecast.every_s);
  if (!horizons.ok()) return horizons.status();
  forecast.horizons = *std::move(horizons);
  forecast.quantiles = *keys.Get<std::vector<double>>("quantiles");
  std::ranges::sort(forecast.quantiles);
  if (std::ranges::adjacent_find(forecast.quantiles) != forecast.quantiles.end())
    return keys.Refuse("quantiles", "each quantile once; take one of the two out");
  forecast.season = keys.Integer("season");
  forecast.max_gap = keys.Integer("max_gap");
  forecast.normalize_over = keys.Integer("normalize_over");
  forecast.score_over = keys.Integer("score_over");
  forecast.max_devices = keys.Integer("max_devices");
  forecast.forget_after_s = *SecondsIn(keys.Text("forget_after"));
  return {};
}

/// Sections of one's own of whoever names none of them.
void FillDefaults(ConfigEntries* entries, const std::string& stream) {
  for (const ConfigRule& rule : StreamRules())
    if (rule.section == "stream")
      entries->values.try_emplace("stream." + stream + '.' + rule.key,
                                  ConfigEntry{rule.standard, "default"});
}

}  // namespace

Spaces StreamSettings::spaces() const {
  const int inputs = InputsOf(forecast);
  return {Box({recurrent ? inputs : forecast.window * inputs}), Box({OutputsOf(forecast)})};
}

Status SettleStreams(ConfigEntries* entries) {
  for (const auto& [name, stream] : entries->streams) {
    FillDefaults(entries, name);
    MURMURATE_RETURN_IF_ERROR(SettleModel(entries, name));
  }
  return {};
}

Result<StreamSettings> ReadStreamSettings(const ConfigEntries& entries, const std::string& name) {
  const Keys keys(entries, name);
  StreamSettings stream;
  stream.name = name;
  stream.origin = entries.streams.at(name).origin + ": [stream." + name + ']';
  MURMURATE_RETURN_IF_ERROR(ReadLink(keys, &stream));
  MURMURATE_RETURN_IF_ERROR(ReadTopics(keys, &stream));
  MURMURATE_RETURN_IF_ERROR(FieldReader(entries, name).Read(keys, &stream));
  MURMURATE_RETURN_IF_ERROR(ReadPayload(keys, &stream));
  MURMURATE_RETURN_IF_ERROR(ReadTargets(keys, &stream));
  MURMURATE_RETURN_IF_ERROR(ReadForecast(keys, &stream));
  MURMURATE_RETURN_IF_ERROR(ReadModel(keys, &stream));
  return stream;
}

}  // namespace murmurate
