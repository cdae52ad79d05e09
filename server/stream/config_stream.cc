#include "server/stream/config_stream.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "server/learn/algorithms.h"
#include "server/stream/device.h"
#include "server/stream/forecast_text.h"
#include "server/stream/stream_keys.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

using Integers = std::vector<std::int64_t>;
using Strings = std::vector<std::string>;

constexpr const char* kDefaultBroker = "mqtt://localhost:1883";

/// A key of the model, what the stream makes of it, and the stream's own key that does.
struct Demand {
  std::string section, key;
  ConfigValue value;
  std::string own;
};

std::vector<Demand> DemandsOf(const StreamDraft& draft) {
  const std::int64_t length = draft.Recurs() ? draft.settings.forecast.window : 1;
  const std::int64_t steps = length * draft.settings.max_batch;
  const ConfigValue unset;
  std::vector<Demand> demands{
      {"model", "layers", draft.Layers(), "model"},
      {"model", "recurrent", unset, "model"},
      {"model", "trunk", std::string("mlp"), "model"},
      {"model", "inputs", Strings{}, "model"},
      {"model", "frame_stack", std::int64_t{1}, "window"},
      {"model", "previous_action", false, ""},
      {"model", "previous_reward", false, ""},
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
  if (!draft.Recurs()) demands.push_back({"model", "keep_bias", unset, "model"});
  if (draft.learning_rate)
    demands.push_back({"optimizer", "learning_rate", *draft.learning_rate, "learning_rate"});
  return demands;
}

StreamDraft DraftOf(const ConfigEntries& entries, const std::string& stream) {
  return StreamKeys().Read(StreamKeys().ViewAt(entries, "stream." + stream + '.'));
}

Status ResolveModel(ConfigEntries* entries, const std::string& stream) {
  const std::string section = "[stream." + stream + ']';
  for (const Demand& demand : DemandsOf(DraftOf(*entries, stream))) {
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
Result<std::vector<int>> ReadHorizons(const SectionView& keys, const ConfigValue& horizon,
                                      double every_s) {
  const std::string every = As<std::string>(keys["every"].value).value_or("");
  std::set<int> rows;
  const auto counts = As<Integers>(horizon);
  if (counts == Integers{0}) return std::vector<int>{0};
  const auto add = [&](double count) -> Status {
    if (!(count >= 1) || count > 4096 || std::abs(count - std::round(count)) > 1e-6)
      return keys.Refuse("horizon", "1 to 4096 times `every` (" + every +
                                        "); write for example horizon = \"" + every + "\"");
    if (!rows.insert(static_cast<int>(std::lround(count))).second)
      return keys.Refuse("horizon", "each horizon once; take one of the two out");
    return {};
  };
  if (counts)
    for (const std::int64_t count : *counts)
      MURMURATE_RETURN_IF_ERROR(add(static_cast<double>(count)));
  if (const auto times = As<Strings>(horizon)) {
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

Status ReadTargets(const SectionView& keys, const StreamDraft& draft, StreamSettings* stream) {
  if (draft.targets.empty())
    return InvalidArgument(
        stream->origin +
        ": says nothing of what is to be forecast; write for example target = "
        "\"" +
        (draft.has_labels() ? std::string("quality") : stream->forecast.fields.front().name) +
        "\"");
  const auto& fields = stream->forecast.fields;
  if (draft.has_labels()) return {};  // they are in what comes there
  const auto& labels = stream->forecast.labels;
  for (const std::string& name : draft.targets) {
    const auto field = std::ranges::find(fields, name, &StreamField::name);
    const auto label = std::ranges::find(labels, name, &StreamField::name);
    if (field == fields.end() && label == labels.end())
      return keys.Refuse("target", "some of the fields; write for example target = \"" +
                                       fields.front().name +
                                       "\", or horizon = 0 if a message has it beside them");
    const int index = static_cast<int>(field - fields.begin() + (label - labels.begin()));
    if (std::ranges::count(stream->forecast.targets, index) > 0)
      return keys.Refuse("target", "each field once; take one of the two out");
    if (Status status = CheckTargetName(name); !status.ok()) return keys.Blame("target", status);
    stream->forecast.targets.push_back(index);
  }
  return {};
}

/// Refuses what makes no sense where a message has its labels itself.
Status CheckOwnLabels(const SectionView& keys, const StreamDraft& draft,
                      const ForecastSettings& forecast) {
  if (As<Integers>(draft.horizon) != Integers{0})
    return keys.Refuse("horizon",
                       "0 alone, or numbers from 1 on, because what a message says of itself is "
                       "learned before the next one; write horizon = 0, or take the 0 out");
  if (keys.Given("every"))
    return keys.Superfluous("every",
                            "with horizon = 0 each message is a row; take one of the two out");
  if (keys.Given("season"))
    return keys.Superfluous("season",
                            "with horizon = 0 the naive forecast is the last label; take one of "
                            "the two out");
  const auto is_target = [&](const StreamField& field) {
    return std::ranges::find(draft.targets, field.name) != draft.targets.end();
  };
  if (std::ranges::all_of(forecast.fields, is_target))
    return keys.Refuse("fields",
                       "one that is no target, because with horizon = 0 a target is forecast from "
                       "the other values of its message; add one, or write horizon = 1");
  return {};
}

Status ReadModel(const SectionView& keys, const StreamDraft& draft, StreamSettings* stream) {
  stream->recurrent = draft.Recurs();
  if (keys.Given("hidden") && !std::holds_alternative<std::string>(draft.model))
    return keys.Superfluous("hidden", "model lists its layers, each with its units; take it out");
  if (keys.Given("state") && !stream->recurrent)
    return keys.Superfluous("state",
                            "a model that does not recur has none; take it out, or write "
                            "model = \"lstm\"");
  if (stream->forecast.learn) return {};
  return keys.NoneOf({"max_delay_ms", "learning_rate", "replay"},
                     "nothing is learned; take it out, or write learn = true");
}

Status ReadForecast(const SectionView& keys, const StreamDraft& draft, ForecastSettings* forecast) {
  if (keys.Given("resample") && forecast->every_s <= 0)
    return keys.Superfluous("resample",
                            "each message is a row of its own; take it out, or write "
                            "for example every = \"10s\"");
  if (!draft.has_labels()) {
    if (draft.OwnLabels()) MURMURATE_RETURN_IF_ERROR(CheckOwnLabels(keys, draft, *forecast));
    auto horizons = ReadHorizons(keys, draft.horizon, forecast->every_s);
    if (!horizons.ok()) return horizons.status();
    forecast->horizons = *std::move(horizons);
  }
  std::ranges::sort(forecast->quantiles);
  if (std::ranges::adjacent_find(forecast->quantiles) != forecast->quantiles.end())
    return keys.Refuse("quantiles", "each quantile once; take one of the two out");
  if (keys.Given("drift_tolerance") && forecast->drift.threshold == 0)
    return keys.Superfluous("drift_tolerance",
                            "drift_threshold = 0 notices no drift; take one of the two out");
  return {};
}

template <typename S>
void FillDefaults(const Keys<S>& keys, const std::string& prefix, ConfigEntries* entries) {
  for (const ConfigRule& rule : keys.rules())
    entries->values.try_emplace(prefix + rule.key, ConfigEntry{rule.standard, "default"});
}

/// The defaults of a stream's own sections, where the config does not have them.
void FillDefaults(ConfigEntries* entries, const std::string& stream) {
  const std::string prefix = "stream." + stream + '.';
  const auto usual = [&](const char* key, ConfigValue value) {
    entries->values.try_emplace(prefix + key, ConfigEntry{std::move(value), "default"});
  };
  // A label that comes later is of that very row, learned from a window that begins with nothing.
  if (entries->values.contains(prefix + "label_topic")) {
    usual("horizon", std::monostate());
    if (DraftOf(*entries, stream).Recurs()) usual("state", std::string("window"));
  }
  FillDefaults(StreamKeys(), prefix, entries);
  if (!entries->streams.at(stream).alarm.empty())
    FillDefaults(StreamAlarmKeys(), prefix + "alarm.", entries);
  const StreamDraft draft = DraftOf(*entries, stream);
  if (draft.settings.link.broker.empty() && draft.settings.listen.empty())
    entries->values.at(prefix + "broker").value = std::string(kDefaultBroker);
}

}  // namespace

Spaces StreamSettings::spaces() const {
  const int inputs = InputsOf(forecast);
  return {Box({recurrent ? inputs : forecast.window * inputs}), Box({OutputsOf(forecast)})};
}

TrajectoryLayout StreamSettings::layout(const ModelSpec& spec) const {
  return TrajectoryLayout(spec, recurrent ? forecast.window : 1);
}

Status ResolveStreams(ConfigEntries* entries) {
  for (const auto& [name, stream] : entries->streams) {
    FillDefaults(entries, name);
    MURMURATE_RETURN_IF_ERROR(ResolveModel(entries, name));
  }
  return {};
}

Result<StreamSettings> ReadStreamSettings(const ConfigEntries& entries, const std::string& name) {
  const SectionView keys = StreamKeys().ViewAt(entries, "stream." + name + '.');
  const StreamDraft draft = StreamKeys().Read(keys);
  StreamSettings stream = draft.settings;
  stream.name = name;
  stream.origin = entries.streams.at(name).origin + ": [stream." + name + ']';
  stream.seed = static_cast<std::uint64_t>(*As<std::int64_t>(entries.values.at("run.seed").value));
  MURMURATE_RETURN_IF_ERROR(ReadStreamMessages(entries, keys, draft, &stream));
  MURMURATE_RETURN_IF_ERROR(ReadTargets(keys, draft, &stream));
  MURMURATE_RETURN_IF_ERROR(ReadForecast(keys, draft, &stream.forecast));
  MURMURATE_RETURN_IF_ERROR(ReadModel(keys, draft, &stream));
  MURMURATE_RETURN_IF_ERROR(ReadStreamLabels(entries, keys, draft, &stream));
  MURMURATE_RETURN_IF_ERROR(ReadStreamAlarm(entries, draft, &stream));
  return stream;
}

}  // namespace murmurate
