#include "server/stream/stream_keys.h"

#include <algorithm>

#include "shared/model/layer.h"

namespace murmurate {
namespace {

using S = StreamDraft;
using Strings = std::vector<std::string>;
using Rows = std::vector<Key<StreamDraft>>;
constexpr auto kSettings = &StreamDraft::settings;
constexpr auto kLink = &StreamSettings::link;
constexpr auto kPayload = &StreamSettings::payload;
constexpr auto kForecast = &StreamSettings::forecast;

Rows LinkKeys() {
  using namespace keys;
  const auto path = Kind(ValueKind::kPath);
  return {
      {"listen", In(kSettings, &StreamSettings::listen),
       "where clients send samples and get forecasts over ZeroMQ; alone it needs no broker",
       Example("\"tcp://127.0.0.1:7430\"")},
      {"broker", In(kSettings, kLink, &MqttSettings::broker),
       "where it listens; mqtts:// with TLS; usual: that one, and none beside `listen`",
       Example("\"mqtt://localhost:1883\"")},
      {"protocol", In(kSettings, kLink, &MqttSettings::protocol), "of MQTT",
       Default(std::string("3.1.1")), Example("\"5\"")},
      {"client_id", In(kSettings, kLink, &MqttSettings::client_id),
       "to the broker; usual: one that is drawn", Example("\"murmurate-temp\"")},
      {"user", In(kSettings, kLink, &MqttSettings::user), "to the broker",
       Example("\"murmurate\"")},
      {"password_file", In(kSettings, &StreamSettings::password_file),
       "whose first line is the user's password; mode 600", path, Example("\"password.txt\"")},
      {"password_env", In(kSettings, &StreamSettings::password_env),
       "or the variable of the environment that holds it", Example("\"MQTT_PASSWORD\"")},
      {"ca_file", In(kSettings, kLink, &MqttSettings::ca_file),
       "who signs for the broker; usual: the system's authorities", path, Example("\"ca.pem\"")},
      {"certificate_file", In(kSettings, kLink, &MqttSettings::certificate_file),
       "ours, for the broker", path, Example("\"client.pem\"")},
      {"key_file", In(kSettings, kLink, &MqttSettings::key_file), "of that certificate; mode 600",
       path, Example("\"client.key\"")},
      {"qos", &S::qos, "of what is read: 0 at most once, 1 at least once, 2 once", Range(0, 2)},
  };
}

Rows MessageKeys() {
  using namespace keys;
  return {
      {"subscribe", &S::subscribe, "topics that are read; {device} says whose message it is",
       Example("\"sensors/{device}/data\"")},
      {"format", In(kSettings, kPayload, &PayloadSettings::format), "of a message",
       Example("\"csv\"")},
      {"fields", &S::fields, "numbers that each message has; the model sees them", Unset(),
       Example("[\"temp\", \"hum\"]")},
      {"header", In(kSettings, kPayload, &PayloadSettings::header), "csv: the names of all columns",
       Example("[\"temp\", \"hum\"]")},
      {"separator", &S::separator, "csv: between columns", Example("\";\"")},
      {"max_bytes", In(kSettings, kPayload, &PayloadSettings::max_bytes),
       "of a message; larger ones are refused", Range(1, 16 << 20)},
      {"time", In(kSettings, kPayload, &PayloadSettings::time),
       "where a message says when it was measured; usual: it counts as it arrives",
       Example("\"/time\"")},
      {"time_unit", In(kSettings, kPayload, &PayloadSettings::time_form), "of that time",
       Example("\"ms\"")},
      {"sequence", In(kSettings, kPayload, &PayloadSettings::sequence),
       "where a message has its number: what comes twice counts once", Example("\"/seq\"")},
      {"device", &S::device, "where a message says who sends it, when its topic has no {device}",
       Example("\"/id\"")},
      {"label_topic", &S::label_topic,
       "topics where the target of each row comes later, or those of `subscribe`; usual: a message "
       "has its targets",
       Example("\"lab/{device}/result\"")},
      {"id", &S::id, "with label_topic: where a sample and its label say which sample it is",
       Example("\"/id\"")},
      {"label_window", &S::label_window, "rows of a device after which a label comes too late",
       Range(1, 4096)},
      {"early_labels", &S::early_labels,
       "labels of a device that are kept until their samples come; 0: refused", Range(0, 4096)},
      {"label_header", &S::label_header, "csv: the names of all columns of a label",
       Example("[\"id\", \"quality\"]")},
      {"every", ValueKind::kDuration, ConfigValue(),
       [](const ConfigValue& value, S* s) {
         s->settings.forecast.every_s = *SecondsIn(std::get<std::string>(value));
       },
       "put messages on a grid of this step; usual: each is a row", Example("\"10s\"")},
      {"resample", In(kSettings, kForecast, &ForecastSettings::resample),
       "what the messages of one step make", Example("\"mean\"")},
      {"missing", In(kSettings, kForecast, &ForecastSettings::missing),
       "a field that is not there: its last value, no row, or a refusal", Example("\"skip\"")},
      {"max_gap", In(kSettings, kForecast, &ForecastSettings::max_gap),
       "rows in which values may be held", Range(0, 1'000'000)},
      {"max_devices", In(kSettings, kForecast, &ForecastSettings::max_devices),
       "that are followed at once", Range(1, 1'000'000)},
      {"forget_after", ValueKind::kDuration, std::string("1d"),
       [](const ConfigValue& value, S* s) {
         s->settings.forecast.forget_after_s = *SecondsIn(std::get<std::string>(value));
       },
       "a device silent for so long makes room for another"},
  };
}

Rows ForecastKeys() {
  using namespace keys;
  return {
      {"target", &S::targets,
       "the fields that are forecast; with label_topic what labels say; with horizon = 0 what a "
       "message has beside them",
       Unset(), Kind(ValueKind::kNames), Example("\"temp\"")},
      {"horizon", &S::horizon,
       "rows ahead, or times on the grid of `every`; 0: of the message itself, before it is "
       "learned",
       Kind(ValueKind::kSpans), Example("[1, 6]"), Range(0, 4096)},
      {"quantiles", In(kSettings, kForecast, &ForecastSettings::quantiles),
       "of the forecast's errors, that are tracked and published around it", Example("[0.1, 0.9]"),
       Range(1e-6, 1 - 1e-6)},
      {"season", In(kSettings, kForecast, &ForecastSettings::season),
       "rows after which it may repeat: a naive forecast beside the last value; 0: none",
       Example("24"), Range(0, 1'000'000)},
      {"model", &S::model, "what forecasts: one of these, of `hidden` units, or a list of layers",
       Kind(ValueKind::kNetwork), Choices({"lstm", "gru", "mlp"}), Example("\"gru\"")},
      {"hidden", &S::hidden, "units of lstm, gru, and both layers of mlp", Range(1, 65536)},
      {"window", In(kSettings, kForecast, &ForecastSettings::window),
       "rows that a training step goes back, or that a model sees that does not recur",
       Range(1, 1024)},
      {"state", ValueKind::kString, std::string("per-device"),
       [](const ConfigValue& value, S* s) {
         s->settings.forecast.per_device_state = std::get<std::string>(value) == "per-device";
       },
       "what a model that recurs remembers: a device's whole past, or its window",
       Choices({"per-device", "window"}), Example("\"window\"")},
      {"normalize_over", In(kSettings, kForecast, &ForecastSettings::normalize_over),
       "rows of a device that its usual value and spread remember", Range(2, kMany)},
      {"score_over", In(kSettings, kForecast, &ForecastSettings::score_over),
       "forecasts that errors and skill remember", Range(1, kMany)},
      {"drift_threshold",
       In(kSettings, kForecast, &ForecastSettings::drift, &PageHinkleySettings::threshold),
       "usual errors that the model's may add up to above their mean before a drift is noticed; 0: "
       "none ever is",
       Range(0, 1e9)},
      {"drift_tolerance",
       In(kSettings, kForecast, &ForecastSettings::drift, &PageHinkleySettings::tolerance),
       "usual errors by which the model's may rise and count as nothing", Range(0, 1e9)},
      {"learn", In(kSettings, kForecast, &ForecastSettings::learn),
       "false: the weights stay as they are", Example("false")},
      {"max_batch", In(kSettings, &StreamSettings::max_batch),
       "sequences (rows, where nothing recurs) in a training step", Range(1, 4096)},
      {"max_delay_ms", In(kSettings, &StreamSettings::max_delay_ms),
       "that a row may wait for others to be learned with", Example("20"), Range(0, 60'000)},
      {"replay", In(kSettings, &StreamSettings::replay),
       "sequences (rows, where nothing recurs) kept, to learn as many again beside new ones; 0: "
       "none",
       Example("1000"), Range(0, 1'000'000)},
      {"learning_rate", &S::learning_rate, "of its model; usual: 1e-3, or what [optimizer] says",
       Example("1e-3"), Range(kTiny, 100)},
  };
}

Rows AnswerKeys() {
  using namespace keys;
  return {
      {"publish", &S::publish, "where forecasts go; {names} as in subscribe",
       Example("\"sensors/{device}/forecast\"")},
      {"metrics", &S::metrics, "where a device's errors and skill go",
       Example("\"sensors/{device}/error\"")},
      {"committed", &S::committed, "where the last number goes that a checkpoint holds",
       Example("\"sensors/{device}/committed\"")},
      {"status", In(kSettings, &StreamSettings::status),
       "where \"learning\" (or \"forecasting\") and, as its last will, \"offline\" go",
       Example("\"sensors/forecaster\"")},
      {"retain", In(kSettings, &StreamSettings::retain), "the broker keeps the last of each topic",
       Example("false")},
  };
}

}  // namespace

ConfigValue StreamDraft::Layers() const {
  const auto* name = std::get_if<std::string>(&model);
  if (name == nullptr) return model;
  const std::string units = std::to_string(hidden);
  if (*name == "mlp") return Strings{"dense " + units, "dense " + units};
  return Strings{*name + ' ' + units};
}

bool StreamDraft::OwnLabels() const {
  const auto rows = As<std::vector<std::int64_t>>(horizon).value_or(std::vector<std::int64_t>{});
  return std::ranges::find(rows, 0) != rows.end();
}

bool StreamDraft::Recurs() const {
  const Activation usual = Activation::kTanh;
  return std::ranges::any_of(As<Strings>(Layers()).value_or(Strings{}), [&](const auto& text) {
    const Result<Layer> layer = Layer::Parse(text, &usual);
    return layer.ok() && layer->recurrent();
  });
}

const Keys<StreamDraft>& StreamKeys() {
  static const Keys<StreamDraft> kKeys("stream", [] {
    Rows all;
    for (Rows some : {LinkKeys(), MessageKeys(), ForecastKeys(), AnswerKeys()})
      all.insert(all.end(), some.begin(), some.end());
    return all;
  }());
  return kKeys;
}

const Keys<FieldSettings>& StreamFieldKeys() {
  using namespace keys;
  using F = FieldSettings;
  static const Keys<F> kKeys(
      "stream.field",
      {{"pointer", &F::pointer,
        "where a message has it: a JSON pointer, a CSV column; usual: where its name says",
        Example("\"/climate/humidity\"")},
       {"unit", &F::unit, "said with each forecast", Example("\"degC\"")},
       {"low", &F::min, "what lies below counts as missing", Example("-40")},
       {"high", &F::max, "what lies above counts as missing", Example("85")}});
  return kKeys;
}

const Keys<AlarmDraft>& StreamAlarmKeys() {
  using namespace keys;
  using A = AlarmDraft;
  static const Keys<A> kKeys(
      "stream.alarm",
      {{"when", &A::when,
        "what raises it: a quantity, a comparison and a number, or \"value outside\"",
        Example("\"forecast > 30\"")},
       {"for", &A::rows, "rows for which that must have held", Example("3"), Range(1, 1'000'000)},
       {"clear", &A::clear, "what clears it; usual: that `when` does not hold",
        Example("\"forecast < 28\"")},
       {"publish", &A::publish,
        "where it goes when it is raised or cleared; {names} as in subscribe",
        Example("\"sensors/{device}/alarm\"")},
       {"retain", &A::retain, "the broker keeps the last of each device", Example("false")}});
  return kKeys;
}

}  // namespace murmurate
