#include "server/config/config.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "server/config/examples.h"
#include "server/schema/config_rules.h"
#include "server/schema/setting_words.h"
#include "shared/core/check.h"
#include "shared/model/safetensors.h"
#include "shared/wire/protocol.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kMaxConfigBytes = 1 << 20;
constexpr std::string_view kSettingsPrefix = "settings.";

std::optional<std::uint64_t> AsCount(const ConfigValue& value) {
  const auto number = As<std::int64_t>(value);
  return number ? std::optional(static_cast<std::uint64_t>(*number)) : std::nullopt;
}

/// One processor is the learner's. hardware_concurrency() is 0 where the system does not say.
std::int64_t UsualActors() {
  return std::clamp<std::int64_t>(std::int64_t{std::thread::hardware_concurrency()} - 1, 2, 4096);
}

/// Of an integer, too.
std::optional<double> AsNumber(const ConfigValue& value) {
  if (const auto whole = As<std::int64_t>(value)) return static_cast<double>(*whole);
  return As<double>(value);
}

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
  MURMURATE_RETURN_IF_ERROR(ReadText(source, &config.entries_));
  for (const ConfigOverride& change : overrides)
    MURMURATE_RETURN_IF_ERROR(ReadOverride(change, &config.entries_));
  MURMURATE_RETURN_IF_ERROR(SettleStreams(&config.entries_));
  config.ListenForStreamsAlone();
  config.Settle(source.stem);
  if (!wire::IsGoodName(config.run_.name))
    return InvalidArgument(
        config.Get("run", "name").origin + ": run.name: got \"" + config.run_.name +
        "\", expected 1 to 64 of A-Z a-z 0-9 . _ -; write for example name = \"cartpole\"");
  MURMURATE_RETURN_IF_ERROR(config.CheckListen());
  MURMURATE_RETURN_IF_ERROR(config.CheckEnvironment());
  MURMURATE_RETURN_IF_ERROR(config.CheckSettings());
  MURMURATE_RETURN_IF_ERROR(config.CheckData());
  MURMURATE_RETURN_IF_ERROR(config.CheckParameters());
  MURMURATE_RETURN_IF_ERROR(config.CheckModels());
  MURMURATE_RETURN_IF_ERROR(config.ReadStreams());
  return config;
}

Status Config::CheckModels() const {
  std::set<std::string> models = entries_.models;
  models.insert("");
  for (const std::string& model : models) {
    MURMURATE_RETURN_IF_ERROR(CheckSchedules(model));
    MURMURATE_RETURN_IF_ERROR(CheckRecurrence(model));
    MURMURATE_RETURN_IF_ERROR(CheckRefusals(model));
    MURMURATE_RETURN_IF_ERROR(CheckAlgorithm(model));
    MURMURATE_RETURN_IF_ERROR(CheckBatch(model));
    MURMURATE_RETURN_IF_ERROR(CheckRewards(model));
  }
  return {};
}

const ConfigEntry& Config::Get(const std::string& section, const std::string& key,
                               const std::string& model) const {
  if (!model.empty()) {
    const auto own = entries_.values.find(PathOf(section, key, model));
    if (own != entries_.values.end()) return own->second;
  }
  const auto found = entries_.values.find(section + '.' + key);
  MURMURATE_CHECK(found != entries_.values.end(), "a key that is not in the table");
  return found->second;
}

std::string Config::PlaceOf(const std::string& section, const std::string& key,
                            const std::string& model) const {
  const std::string own = PathOf(section, key, model);
  return entries_.values.contains(own) ? own : PathOf(section, key, "");
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
  for (const ConfigRule& rule : ConfigRules())
    entries_.values.try_emplace(rule.section + '.' + rule.key,
                                ConfigEntry{rule.standard, "default"});
  SettleAlgorithm("");
  for (const std::string& model : entries_.models) SettleAlgorithm(model);
  const auto get = [this](const char* section, const char* key) -> const ConfigValue& {
    return Get(section, key).value;
  };
  ConfigEntry& name = entries_.values["run.name"];
  if (!As<std::string>(name.value)) name = {stem, "the config's name"};
  run_.name = std::get<std::string>(name.value);
  run_.dir = std::get<std::string>(get("run", "dir"));
  run_.environment = As<std::string>(get("run", "environment")).value_or("");
  for (const EnvironmentOption& option : AllEnvironmentOptions())
    if (const auto value = AsNumber(get("environment", option.name)))
      run_.environment_options.*option.value = *value;
  run_.seed = *AsCount(get("run", "seed"));
  run_.actors = static_cast<int>(As<std::int64_t>(get("run", "actors")).value_or(UsualActors()));
  run_.agents = AsInt(get("run", "agents"));
  run_.learners = AsInt(get("run", "learners"));
  run_.shards = AsInt(get("run", "shards"));
  if (run_.shards == 0 && run_.learners > 1) run_.shards = 1;
  run_.steps = AsCount(get("run", "steps"));
  run_.stop_at_steps = AsCount(get("run", "stop_at_steps"));
  run_.stop_at_return = As<double>(get("run", "stop_at_return"));
  run_.log_interval_s = std::get<double>(get("run", "log_interval_s"));
  server_.listen = std::get<std::vector<std::string>>(get("server", "listen"));
  server_.shm = std::get<std::string>(get("server", "shm"));
  server_.ingest_budget_bytes = *AsCount(get("server", "ingest_budget_bytes"));
  server_.max_actors = AsInt(get("server", "max_actors"));
  server_.insecure = std::get<bool>(get("server", "insecure"));
  checkpoint_.every_steps = *AsCount(get("checkpoint", "every_steps"));
  checkpoint_.every_s = std::get<double>(get("checkpoint", "every_s"));
  checkpoint_.retention = {AsInt(get("checkpoint", "keep")),
                           *AsCount(get("checkpoint", "keep_every"))};
  evaluation_.episodes = AsInt(get("evaluation", "episodes"));
  evaluation_.every = std::get<double>(get("evaluation", "every"));
}

void Config::ListenPrivately() {
  server_.listen = {"ipc"};
  entries_.values["server.listen"] = {server_.listen, "train"};
}

Schedule Config::ScheduleOf(const std::string& section, const std::string& key,
                            const std::string& model) const {
  const ConfigValue& value = Get(section, key, model).value;
  if (const auto number = As<double>(value)) return Schedule(*number);
  return ToSchedule(std::get<ConfigSchedule>(value));
}

Schedule Config::ToSchedule(const ConfigSchedule& written) const {
  Schedule schedule;
  schedule.from = written.from;
  schedule.to = written.to;
  schedule.over_the_budget = !written.steps;
  schedule.steps = written.steps ? static_cast<std::uint64_t>(*written.steps) : *run_.steps;
  schedule.shape = written.shape == "cosine"        ? Schedule::Shape::kCosine
                   : written.shape == "exponential" ? Schedule::Shape::kExponential
                                                    : Schedule::Shape::kLinear;
  return schedule;
}

std::vector<GameSetting> Config::game_settings() const {
  std::vector<GameSetting> settings;
  for (const auto& [path, entry] : entries_.values) {
    if (!path.starts_with(kSettingsPrefix)) continue;
    GameSetting setting{path.substr(kSettingsPrefix.size()), 0.0};
    if (const auto number = As<double>(entry.value)) setting.rule = *number;
    if (const auto schedule = As<ConfigSchedule>(entry.value)) setting.rule = ToSchedule(*schedule);
    if (const auto words = As<ConfigCurriculum>(entry.value))
      setting.rule = *MakeCurriculum(*words);
    settings.push_back(std::move(setting));
  }
  return settings;
}

AlgorithmSettings Config::AlgorithmFor(const std::string& model) const {
  const auto integer = [&](const char* key) { return AsInt(Get("algorithm", key, model).value); };
  const auto number = [&](const char* key, const char* section = "algorithm") {
    return std::get<double>(Get(section, key, model).value);
  };
  AlgorithmSettings settings;
  settings.kind = &KindFor(model);
  settings.trajectory_length = integer("trajectory_length");
  settings.batch_steps = integer("batch_steps");
  settings.minibatch = integer("minibatch");
  settings.epochs = integer("epochs");
  settings.gamma = number("gamma");
  settings.lambda = number("lambda");
  if (settings.kind->clips_ratio) settings.clip = ScheduleOf("algorithm", "clip", model);
  settings.entropy = ScheduleOf("algorithm", "entropy", model);
  settings.learning_rate = ScheduleOf("optimizer", "learning_rate", model);
  settings.value_weight = number("value_weight");
  settings.max_grad_norm = number("max_grad_norm");
  settings.optimizer = OptimizerNamed(std::get<std::string>(Get("optimizer", "name", model).value))
                           .value_or(OptimizerSettings::Name::kAdam);
  settings.optimizer_epsilon = number("epsilon", "optimizer");
  settings.optimizer_decay = number("decay", "optimizer");
  settings.optimizer_momentum = number("momentum", "optimizer");
  settings.weight_decay = number("weight_decay", "optimizer");
  settings.max_staleness = integer("max_staleness");
  const auto& staleness = std::get<std::string>(Get("algorithm", "staleness", model).value);
  settings.staleness = staleness == "drop"    ? StalenessPolicy::kDrop
                       : staleness == "block" ? StalenessPolicy::kBlock
                                              : StalenessPolicy::kVtrace;
  settings.normalize_advantage =
      std::get<bool>(Get("algorithm", "normalize_advantage", model).value);
  settings.target_kl = number("target_kl");
  settings.burn_in = integer("burn_in");
  settings.reward_scale = number("reward_scale");
  settings.normalize_reward = std::get<bool>(Get("algorithm", "normalize_reward", model).value);
  settings.reward_clip = As<double>(Get("algorithm", "reward_clip", model).value)
                             .value_or(settings.normalize_reward ? 10.0 : 0.0);
  settings.threads = AsInt(Get("model", "threads", model).value);
  return settings;
}

ModelWords Config::WordsFor(const std::string& model) const {
  const auto get = [&](const char* key) -> const ConfigValue& {
    return Get("model", key, model).value;
  };
  ModelWords words;
  words.trunk = std::get<std::string>(get("trunk"));
  if (const auto units = As<std::vector<std::int64_t>>(get("layers"))) {
    words.layers.emplace();
    for (const std::int64_t n : *units) words.layers->push_back("dense " + std::to_string(n));
  } else {
    words.layers = As<std::vector<std::string>>(get("layers"));
  }
  words.inputs = std::get<std::vector<std::string>>(get("inputs"));
  words.recurrent = As<std::string>(get("recurrent")).value_or("");
  words.frame_stack = AsInt(get("frame_stack"));
  if (const auto name = As<std::string>(get("activation"))) {
    words.activation = ActivationNamed(*name);
  }
  words.separate_value = As<bool>(get("separate_value"));
  if (!words.separate_value && !KindFor(model).values)
    words.separate_value = false;  // no value is learned: a critic would cost as much as the rest
  words.normalize_observation = std::get<bool>(get("normalize_observation"));
  words.continuous.squashed = std::get<bool>(get("squashed"));
  words.continuous.scaled = As<bool>(get("scale_actions")).value_or(true);
  words.continuous.state_dependent_deviation = std::get<bool>(get("state_dependent_deviation"));
  return words;
}

std::string Config::Blame(const std::string& model, const Spaces& spaces) const {
  std::string where;
  for (const char* key : {"squashed", "frame_stack", "recurrent", "trunk", "inputs", "layers"}) {
    const ConfigEntry& entry = Get("model", key, model);
    if (entry.origin == "default") continue;
    const std::string path = PlaceOf("model", key, model);
    where = entry.origin + ": " + path + ": ";
    Config without = *this;
    without.entries_.values[path].value = FindRule("model", key)->standard;
    if (MakeSpec(without.WordsFor(model), spaces).ok()) break;
  }
  return where;
}

Result<ModelSettings> Config::ModelFor(const std::string& model, const Spaces& spaces) const {
  Result<ModelSpec> spec = MakeSpec(WordsFor(model), spaces);
  if (!spec.ok()) return InvalidArgument(Blame(model, spaces) + spec.status().message());
  ModelSettings settings;
  settings.algorithm = AlgorithmFor(model);
  settings.spec = *std::move(spec);
  settings.max_trajectory_s = std::get<double>(Get("algorithm", "max_trajectory_s", model).value);
  settings.batches_ahead = AsInt(Get("algorithm", "batches_ahead", model).value);
  settings.quorum = std::get<double>(Get("algorithm", "quorum", model).value);
  settings.max_batch_s = std::get<double>(Get("algorithm", "max_batch_s", model).value);
  const std::string& initializer = std::get<std::string>(Get("model", "initializer", model).value);
  settings.beginning = initializer == "xavier"   ? Initializer::kXavier
                       : initializer == "he"     ? Initializer::kHe
                       : initializer == "normal" ? Initializer::kNormal
                                                 : Initializer::kOrthogonal;
  // A policy begins without a preference, and a forecast with "as it was"; labels want neither.
  if (!settings.algorithm.kind->own_play && StreamOf(model) == nullptr)
    settings.beginning.policy_gain = 1.0;
  if (const auto bias = As<double>(Get("model", "keep_bias", model).value))
    settings.beginning.keep_bias = static_cast<float>(*bias);
  settings.beginning.deviation =
      static_cast<float>(std::get<double>(Get("model", "initial_deviation", model).value));
  settings.initial_file = InitialFileFor(model);
  if (shares_parameters()) settings.remote = RemoteFor(model);
  settings.hogwild = hogwild();
  return settings;
}

InitialFile Config::InitialFileFor(const std::string& model) const {
  const ConfigEntry& entry = Get("model", "initialize_from", model);
  return {As<std::string>(entry.value).value_or(""),
          entry.origin + ": " + PlaceOf("model", "initialize_from", model)};
}

std::vector<InitialFile> Config::initial_files() const {
  std::set<std::string> models = entries_.models;
  models.insert("");
  std::vector<InitialFile> files;
  for (const std::string& model : models)
    if (InitialFile file = InitialFileFor(model); !file.path.empty())
      files.push_back(std::move(file));
  return files;
}

}  // namespace murmurate
