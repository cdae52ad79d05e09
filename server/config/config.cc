#include "server/config/config.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "client/environments/environment.h"
#include "server/config/config_checks.h"
#include "server/config/examples.h"
#include "server/config/model_settings.h"
#include "server/data/data_settings.h"
#include "server/learn/setting_keys.h"
#include "server/operate/operate_settings.h"
#include "server/stream/config_stream.h"
#include "shared/core/check.h"
#include "shared/model/safetensors.h"
#include "shared/wire/protocol.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kMaxConfigBytes = 1 << 20;
constexpr std::string_view kSettingsPrefix = "settings.";

Status NoSuchConfig(const std::string& name) {
  std::vector<std::string> names;
  std::string list;
  for (const Example& example : Examples()) {
    names.push_back(example.name);
    list += (list.empty() ? "" : ", ") + names.back();
  }
  const std::string nearest = Nearest(name, names);
  return InvalidArgument(name + ": no such file or example; " +
                         (nearest.empty() ? "" : "did you mean \"" + nearest + "\"? ") +
                         "give a TOML file or one of the examples: " + list);
}

}  // namespace

Result<ConfigSource> FindConfig(const std::string& name) {
  std::error_code error;
  const bool path = name.find('/') != std::string::npos || name.ends_with(".toml");
  if (!path && !fs::is_regular_file(name, error)) {
    for (const Example& example : Examples())
      if (name == example.name) return ConfigSource{name + " (built in)", name, example.text};
    return NoSuchConfig(name);
  }
  if (fs::is_directory(name, error))
    return InvalidArgument(name + ": is a folder, expected a TOML file; name the file in it");
  if (!fs::exists(name, error)) return NoSuchConfig(name);
  auto text = ReadFile(name, kMaxConfigBytes);
  if (!text.ok()) return InvalidArgument(text.status().message());
  const fs::path place(name);
  return ConfigSource{name, place.stem().string(), std::move(*text), place.parent_path().string()};
}

Result<Config> Config::Load(const ConfigSource& source,
                            const std::vector<ConfigOverride>& overrides) {
  Config config;
  MURMURATE_RETURN_IF_ERROR(ReadText(source, Schema(), &config.entries_));
  for (const ConfigOverride& change : overrides)
    MURMURATE_RETURN_IF_ERROR(ReadOverride(change, Schema(), &config.entries_));
  MURMURATE_RETURN_IF_ERROR(SettleStreams(&config.entries_));
  config.ListenForStreamsAlone();
  config.Settle(source.stem);
  if (!wire::IsGoodName(config.run_.name))
    return InvalidArgument(
        config.Get("run", "name").origin + ": run.name: got \"" + config.run_.name +
        "\", expected 1 to 64 of A-Z a-z 0-9 . _ -; write for example name = \"cartpole\"");
  MURMURATE_RETURN_IF_ERROR(CheckListen(config));
  MURMURATE_RETURN_IF_ERROR(CheckEnvironment(config));
  MURMURATE_RETURN_IF_ERROR(CheckSettings(config));
  MURMURATE_RETURN_IF_ERROR(CheckData(config));
  MURMURATE_RETURN_IF_ERROR(CheckParameters(config));
  MURMURATE_RETURN_IF_ERROR(config.CheckModels());
  MURMURATE_RETURN_IF_ERROR(config.ReadStreams());
  return config;
}

Status Config::CheckModels() const {
  for (const std::string& model : models()) {
    MURMURATE_RETURN_IF_ERROR(CheckModel(*this, model));
    MURMURATE_RETURN_IF_ERROR(CheckRefusals(model));
    MURMURATE_RETURN_IF_ERROR(CheckAlgorithm(model));
    MURMURATE_RETURN_IF_ERROR(CheckBatch(*this, model));
  }
  return {};
}

const ConfigEntry& Config::Get(const std::string& section, const std::string& key,
                               const std::string& model) const {
  const auto found = entries_.values.find(PlaceOf(section, key, model));
  MURMURATE_CHECK(found != entries_.values.end(), "a key that no room has bound");
  return found->second;
}

std::string Config::PlaceOf(const std::string& section, const std::string& key,
                            const std::string& model) const {
  const std::string own = PathOf(section, key, model);
  return entries_.values.contains(own) ? own : PathOf(section, key, "");
}

bool Config::Says(const std::string& section, const std::string& key,
                  const std::string& model) const {
  return Get(section, key, model).origin != "default";
}

std::set<std::string> Config::models() const {
  std::set<std::string> models = entries_.models;
  models.insert("");
  return models;
}

/// Where nothing speaks of a game, none can come: several such learners run side by side, and take
/// no ports that games know.
void Config::ListenForStreamsAlone() {
  const bool alone = std::ranges::all_of(entries_.models, [this](const std::string& model) {
    return entries_.streams.contains(model);
  });
  if (entries_.streams.empty() || entries_.values.contains("run.environment") || !alone) return;
  entries_.values.try_emplace(
      "server.listen", ConfigEntry{std::vector<std::string>{"ipc"}, "a config of streams alone"});
}

void Config::Settle(const std::string& stem) {
  for (const ConfigRule& rule : Schema().general)
    entries_.values.try_emplace(rule.section + '.' + rule.key,
                                ConfigEntry{rule.standard, "default"});
  SettleAlgorithm("");
  for (const std::string& model : entries_.models) SettleAlgorithm(model);
  ConfigEntry& name = entries_.values["run.name"];
  if (!As<std::string>(name.value)) name = {stem, "the config's name"};
  run_ = Read(RunKeys());
  if (run_.shards == 0 && run_.learners > 1) run_.shards = 1;
}

Status Config::ReadStreams() {
  std::vector<StreamSettings> streams;
  streams_ = std::make_shared<const std::vector<StreamSettings>>();
  for (const auto& [name, section] : entries_.streams) {
    auto stream = ReadStreamSettings(entries_, name);
    if (!stream.ok()) return stream.status();
    MURMURATE_RETURN_IF_ERROR(CheckStream(*this, *stream, streams));
    streams.push_back(*std::move(stream));
  }
  streams_ = std::make_shared<const std::vector<StreamSettings>>(std::move(streams));
  return {};
}

void Config::ListenPrivately() {
  entries_.values["server.listen"] = {std::vector<std::string>{"ipc"}, "train"};
}

EnvironmentOptions Config::environment_options() const { return Read(EnvironmentKeys()); }

ServerSettings Config::server() const { return Read(ServerKeys()); }

CheckpointSettings Config::checkpoint() const { return Read(CheckpointKeys()); }

EvaluationSettings Config::evaluation() const {
  EvaluationSettings settings = Read(EvaluationKeys());
  if (run_.follows()) settings.every = 0.0;
  return settings;
}

RecordingSettings Config::recording() const { return Read(RecordKeys()); }

std::vector<GameSetting> Config::game_settings() const {
  std::vector<GameSetting> settings;
  for (const auto& [path, entry] : entries_.values) {
    if (!path.starts_with(kSettingsPrefix)) continue;
    settings.push_back(MakeGameSetting(path.substr(kSettingsPrefix.size()), entry.value));
    auto* schedule = std::get_if<Schedule>(&settings.back().rule);
    if (schedule != nullptr && schedule->over_the_budget) schedule->steps = *run_.steps;
  }
  return settings;
}

const StreamSettings* Config::StreamOf(const std::string& model) const {
  const auto found = std::ranges::find(*streams_, model, &StreamSettings::name);
  return found == streams_->end() ? nullptr : &*found;
}

Result<ModelSettings> Config::ModelForStream(const StreamSettings& stream) const {
  return ModelFor(stream.name, stream.spaces());
}

}  // namespace murmurate
