#include "server/stream/config_stream.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "server/learn/algorithms.h"
#include "server/schema/config_rules.h"
#include "server/schema/model_words.h"
#include "server/stream/config_stream_keys.h"
#include "server/stream/device.h"
#include "server/stream/forecast_text.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

using Integers = std::vector<std::int64_t>;
using Strings = std::vector<std::string>;

constexpr const char* kUsualBroker = "mqtt://localhost:1883";

/// Of its model, as [model] layers has them.
ConfigValue LayersOf(const StreamKeys& keys) {
  const ConfigValue& model = keys.Entry("model").value;
  const auto* name = std::get_if<std::string>(&model);
  if (name == nullptr) return model;
  const std::string units = std::to_string(keys.Integer("hidden"));
  if (*name == "mlp") return Strings{"dense " + units, "dense " + units};
  return Strings{*name + ' ' + units};
}

bool RecursOf(const StreamKeys& keys) {
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

std::vector<Demand> DemandsOf(const StreamKeys& keys) {
  const std::int64_t length = RecursOf(keys) ? keys.Integer("window") : 1;
  const std::int64_t steps = length * keys.Integer("max_batch");
  const ConfigValue unset;
  std::vector<Demand> demands{
      {"model", "layers", LayersOf(keys), "model"},
      {"model", "recurrent", unset, "model"},
      {"model", "trunk", std::string("mlp"), "model"},
      {"model", "inputs", Strings{}, "model"},
      {"model", "frame_stack", std::int64_t{1}, "window"},
      {"model", "separate_value", false, ""},
      {"model", "squashed", false, ""},
      {"model", "state_dependent_deviation", false, ""},
      {"model", "normalize_observation", false, "normalize_over"},
      {"algorithm", "name", FirstAlgorithm(&AlgorithmKind::leaves_unknown).name, ""},
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
  const StreamKeys keys(*entries, stream);
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

/// Rows to each horizon.
Result<std::vector<int>> ReadHorizons(const StreamKeys& keys, double every_s) {
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
      return keys.Refuse("horizon",
                         "a number of rows, because without `every` a row is a message, "
                         "whenever it comes; write horizon = 1, or for example every = "
                         "\"10s\"");
    for (const std::string& time : *times)
      MURMURATE_RETURN_IF_ERROR(add(*SecondsIn(time) / every_s));
  }
  return std::vector<int>(rows.begin(), rows.end());
}

Status ReadTargets(const StreamKeys& keys, StreamSettings* stream) {
  if (!keys.Given("target"))
    return InvalidArgument(stream->origin +
                           ": says nothing of what is to be forecast; write for example target = "
                           "\"" +
                           (keys.Given("label_topic") ? std::string("quality")
                                                      : stream->forecast.fields.front().name) +
                           "\"");
  const auto& fields = stream->forecast.fields;
  if (keys.Given("label_topic")) return {};  // they are in what comes there
  const Strings targets = *keys.Get<Strings>("target");
  for (const std::string& name : targets) {
    const auto field = std::ranges::find(fields, name, &StreamField::name);
    if (field == fields.end())
      return keys.Refuse("target", "some of the fields; write for example target = \"" +
                                       fields.front().name + "\"");
    const int index = static_cast<int>(field - fields.begin());
    if (std::ranges::count(stream->forecast.targets, index) > 0)
      return keys.Refuse("target", "each field once; take one of the two out");
    if (Status status = CheckTargetName(name); !status.ok()) return keys.Blame("target", status);
    stream->forecast.targets.push_back(index);
  }
  return {};
}

Status ReadModel(const StreamKeys& keys, StreamSettings* stream) {
  ForecastSettings& forecast = stream->forecast;
  stream->recurrent = RecursOf(keys);
  forecast.window = keys.Integer("window");
  forecast.per_device_state = keys.Text("state") == "per-device";
  forecast.learn = *keys.Get<bool>("learn");
  stream->max_batch = keys.Integer("max_batch");
  stream->max_delay_ms = keys.Integer("max_delay_ms");
  stream->replay = keys.Integer("replay");
  if (keys.Given("hidden") && !keys.Get<std::string>("model"))
    return keys.Superfluous("hidden", "model lists its layers, each with its units; take it out");
  if (keys.Given("state") && !stream->recurrent)
    return keys.Superfluous("state",
                            "a model that does not recur has none; take it out, or write "
                            "model = \"lstm\"");
  for (const char* key : {"max_delay_ms", "learning_rate", "replay"})
    if (keys.Given(key) && !forecast.learn)
      return keys.Superfluous(key, "nothing is learned; take it out, or write learn = true");
  return {};
}

Status ReadForecast(const StreamKeys& keys, StreamSettings* stream) {
  using Forecast = ForecastSettings;
  Forecast& forecast = stream->forecast;
  forecast.every_s = keys.Given("every") ? *SecondsIn(keys.Text("every")) : 0.0;
  if (keys.Given("resample") && forecast.every_s <= 0)
    return keys.Superfluous("resample",
                            "each message is a row of its own; take it out, or write "
                            "for example every = \"10s\"");
  const std::string resample = keys.Text("resample"), missing = keys.Text("missing");
  forecast.resample = resample == "mean"  ? Forecast::Resample::kMean
                      : resample == "sum" ? Forecast::Resample::kSum
                                          : Forecast::Resample::kLast;
  forecast.missing = missing == "skip"    ? Forecast::Missing::kSkip
                     : missing == "error" ? Forecast::Missing::kError
                                          : Forecast::Missing::kHold;
  if (!keys.Given("label_topic")) {
    auto horizons = ReadHorizons(keys, forecast.every_s);
    if (!horizons.ok()) return horizons.status();
    forecast.horizons = *std::move(horizons);
  }
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

Status ReadDrift(const StreamKeys& keys, PageHinkleySettings* drift) {
  drift->threshold = *keys.Get<double>("drift_threshold");
  drift->tolerance = *keys.Get<double>("drift_tolerance");
  if (keys.Given("drift_tolerance") && drift->threshold == 0)
    return keys.Superfluous("drift_tolerance",
                            "drift_threshold = 0 notices no drift; take one of the two out");
  return {};
}

/// Sections of one's own of whoever names none of them.
void FillDefaults(ConfigEntries* entries, const std::string& stream) {
  const auto usual = [&](const char* key, ConfigValue value) {
    entries->values.try_emplace("stream." + stream + '.' + key,
                                ConfigEntry{std::move(value), "default"});
  };
  // What comes later is of that very row, and learned from a window that begins with nothing.
  if (entries->values.contains("stream." + stream + ".label_topic")) {
    usual("horizon", std::monostate());
    usual("model", FindRule("stream", "model")->standard);
    usual("hidden", FindRule("stream", "hidden")->standard);
    if (RecursOf(StreamKeys(*entries, stream))) usual("state", std::string("window"));
  }
  const bool alarm = !entries->streams.at(stream).alarm.empty();
  for (const ConfigRule& rule : StreamRules()) {
    if (rule.section != "stream" && !(alarm && rule.section == "stream.alarm")) continue;
    const std::string inner = rule.section == "stream" ? "." : ".alarm.";
    entries->values.try_emplace("stream." + stream + inner + rule.key,
                                ConfigEntry{rule.standard, "default"});
  }
  ConfigEntry& broker = entries->values.at("stream." + stream + ".broker");
  const bool listens = StreamKeys(*entries, stream).Given("listen");
  if (std::holds_alternative<std::monostate>(broker.value) && !listens)
    broker.value = std::string(kUsualBroker);
}

}  // namespace

Spaces StreamSettings::spaces() const {
  const int inputs = InputsOf(forecast);
  return {Box({recurrent ? inputs : forecast.window * inputs}), Box({OutputsOf(forecast)})};
}

TrajectoryLayout StreamSettings::layout(const ModelSpec& spec) const {
  return TrajectoryLayout(spec, recurrent ? forecast.window : 1);
}

Status SettleStreams(ConfigEntries* entries) {
  for (const auto& [name, stream] : entries->streams) {
    FillDefaults(entries, name);
    MURMURATE_RETURN_IF_ERROR(SettleModel(entries, name));
  }
  return {};
}

Result<StreamSettings> ReadStreamSettings(const ConfigEntries& entries, const std::string& name) {
  const StreamKeys keys(entries, name);
  StreamSettings stream;
  stream.name = name;
  stream.origin = entries.streams.at(name).origin + ": [stream." + name + ']';
  stream.seed = static_cast<std::uint64_t>(*As<std::int64_t>(entries.values.at("run.seed").value));
  MURMURATE_RETURN_IF_ERROR(ReadStreamMessages(entries, keys, &stream));
  MURMURATE_RETURN_IF_ERROR(ReadTargets(keys, &stream));
  MURMURATE_RETURN_IF_ERROR(ReadForecast(keys, &stream));
  MURMURATE_RETURN_IF_ERROR(ReadDrift(keys, &stream.forecast.drift));
  MURMURATE_RETURN_IF_ERROR(ReadModel(keys, &stream));
  MURMURATE_RETURN_IF_ERROR(ReadStreamLabels(entries, keys, &stream));
  MURMURATE_RETURN_IF_ERROR(ReadStreamAlarm(entries, keys, &stream));
  return stream;
}

}  // namespace murmurate
