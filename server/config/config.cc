#include "server/config/config.h"

#include <algorithm>
#include <climits>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "client/environments/environment.h"
#include "server/config/algorithm_defaults.h"
#include "server/config/config_checks.h"
#include "server/config/environment_overrides.h"
#include "server/config/examples.h"
#include "server/data/data_settings.h"
#include "server/hooks/hook_kinds.h"
#include "server/ingest/ingest_settings.h"
#include "server/learn/setting_keys.h"
#include "server/operate/operate_settings.h"
#include "server/parameters/parameters_settings.h"
#include "server/schema/settings_keys.h"
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
  for (const Example& example : Examples()) names.push_back(example.name);
  const std::string nearest = Nearest(name, names);
  return InvalidArgument(name + ": no such file or example; " +
                         (nearest.empty() ? "" : "did you mean \"" + nearest + "\"? ") +
                         "give a TOML file or an example; `murmurate train --list` names them");
}

/// A config without a section for a game serves none: several such learners run side by side, and
/// listen on no ports that games know.
void ListenForStreamsAlone(ConfigEntries* entries) {
  const bool alone = std::ranges::all_of(
      entries->models, [&](const std::string& model) { return entries->streams.contains(model); });
  if (entries->streams.empty() || entries->values.contains("run.environment") || !alone) return;
  entries->values.try_emplace(
      "server.listen", ConfigEntry{std::vector<std::string>{"ipc"}, "a config of streams alone"});
}

/// Files of one's own in place of an example's are never made.
void ForgetExampleData(ConfigEntries* entries) {
  const auto replaced = [&](const char* path) {
    const auto entry = entries->values.find(path);
    return entry != entries->values.end() && IsOverride(entry->second.origin);
  };
  if (!replaced("data.example") && (replaced("data.observations") || replaced("data.labels")))
    entries->values.erase("data.example");
}

/// `stem`: the run's name when none is set.
void ResolveDefaults(const std::string& stem, ConfigEntries* entries) {
  for (const ConfigRule& rule : Schema().general)
    entries->values.try_emplace(rule.section + '.' + rule.key,
                                ConfigEntry{rule.standard, "default"});
  ResolveAlgorithm("", entries);
  for (const std::string& model : entries->models) ResolveAlgorithm(model, entries);
  ResolveHooks(entries);
  ConfigEntry& name = entries->values["run.name"];
  if (!As<std::string>(name.value)) name = {stem, "the config's name"};
}

/// The part of the files that this learner reads. A worker of a parameter server beyond those
/// expected reads as one of them does.
FeedPart PartOf(const Config& config, bool divide) {
  const auto parameters = config.parameters();
  const bool shares = parameters.shared();
  const auto learners =
      static_cast<std::uint64_t>(shares ? parameters.workers : config.run().ranks);
  const auto learner = static_cast<std::uint64_t>(shares ? parameters.worker : config.run().rank);
  if (learners == 1) return {};
  if (!divide) return {.of_several = true};
  return {learner % learners, learners, true};
}

Result<ConfigSource> ReadStandardInput() {
  std::string text(kMaxConfigBytes + 1, '\0');
  std::cin.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::cin.gcount()));
  if (text.size() > kMaxConfigBytes)
    return InvalidArgument("standard input: more than " + std::to_string(kMaxConfigBytes) +
                           " bytes; give a TOML file");
  return ConfigSource{"standard input", "run", std::move(text)};
}

}  // namespace

Result<ConfigSource> FindConfig(const std::string& name) {
  if (name == "-") return ReadStandardInput();
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
  for (const ConfigOverride& change : overrides) {
    const auto named = NamedAsIn(config.entries_, change);
    if (!named.ok()) return named.status();
    MURMURATE_RETURN_IF_ERROR(ReadOverride(*named, Schema(), &config.entries_));
  }
  MURMURATE_RETURN_IF_ERROR(ResolveStreams(&config.entries_));
  ListenForStreamsAlone(&config.entries_);
  ForgetExampleData(&config.entries_);
  ResolveDefaults(source.stem, &config.entries_);
  config.run_ = config.Read(RunKeys());
  if (config.run_.shards == 0 && config.run_.learners > 1) config.run_.shards = 1;
  if (!wire::IsGoodName(config.run_.name))
    return RunKeys()
        .View(config.entries_)
        .Blame("name", "got \"" + config.run_.name +
                           "\", expected 1 to 64 of A-Z a-z 0-9 . _ -; write for example name = "
                           "\"cartpole\"");
  MURMURATE_RETURN_IF_ERROR(CheckListen(config));
  MURMURATE_RETURN_IF_ERROR(CheckPage(config));
  MURMURATE_RETURN_IF_ERROR(CheckEnvironment(config));
  MURMURATE_RETURN_IF_ERROR(CheckSettings(config));
  MURMURATE_RETURN_IF_ERROR(CheckData(config));
  MURMURATE_RETURN_IF_ERROR(CheckParameters(config));
  MURMURATE_RETURN_IF_ERROR(CheckModels(config));
  MURMURATE_RETURN_IF_ERROR(config.ReadStreams());
  MURMURATE_RETURN_IF_ERROR(CheckHooks(config));
  return config;
}

std::set<std::string> Config::models() const {
  std::set<std::string> models = entries_.models;
  models.insert("");
  return models;
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

Status Config::LeadCluster(const std::vector<std::string>& shards) {
  const auto set = [this](const char* key, ConfigValue value) {
    entries_.values[std::string("parameters.") + key] = {std::move(value), "train"};
  };
  set("mode", std::string("server"));
  set("shards", shards);
  set("worker", std::int64_t{0});
  set("workers", std::int64_t{run_.learners});
  run_.ShareAmong(run_.learners);
  return CheckParameters(*this);
}

void Config::ShareWork(int rank, int size, const std::string& directory) {
  run_.rank = rank;
  run_.ranks = size;
  run_.ShareAmong(size);
  if (rank == 0) return;
  run_.seed += kSeedStride * static_cast<std::uint64_t>(rank);
  run_.dir = directory;
  run_.name = "learner-" + std::to_string(rank);
}

EnvironmentOptions Config::environment_options() const { return Read(EnvironmentKeys()); }

ServerSettings Config::server() const { return Read(ServerKeys()); }

CheckpointSettings Config::checkpoint() const { return Read(CheckpointKeys()); }

EvaluationSettings Config::evaluation() const {
  EvaluationSettings settings = Read(EvaluationKeys());
  if (run_.follows()) settings.every = 0.0;
  return settings;
}

DataSettings Config::data() const {
  DataSettings data = Read(DataKeys());
  if (run_.follows()) data.passes = INT_MAX;
  data.part = PartOf(*this, data.divide);
  data.arrays.shared = data.part.of_several;
  data.arrays.learners = data.part.of;
  return data;
}

RecordingSettings Config::recording() const { return Read(RecordKeys()); }

ParametersSettings Config::parameters() const { return Read(ParametersKeys()); }

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

}  // namespace murmurate
