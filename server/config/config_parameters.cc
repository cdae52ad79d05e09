// [parameters]: one learner, or one of many around a parameter server.
#include <algorithm>

#include "server/config/config.h"
#include "server/schema/config_rules.h"
#include "shared/core/check.h"
#include "shared/transport/socket.h"

namespace murmurate {
namespace {

using Strings = std::vector<std::string>;

bool IsDefault(const ConfigEntry& entry) { return entry.origin.starts_with("default"); }

Status Unexpected(const ConfigEntry& entry, const std::string& path, const std::string& expected) {
  return InvalidArgument(entry.origin + ": " + path + ": got " + ToToml(entry.value) +
                         ", expected " + expected);
}

}  // namespace

std::uint64_t RunSettings::most_steps() const {
  if (follows()) return UINT64_MAX;
  return std::min(stop_at_steps.value_or(UINT64_MAX), steps.value_or(UINT64_MAX));
}

bool Config::shares_parameters() const {
  return std::get<std::string>(Get("parameters", "mode").value) == "server";
}

std::optional<HogwildSettings> Config::hogwild() const {
  if (std::get<std::string>(Get("parameters", "rule").value) != TextOf(RuleName::kHogwild))
    return std::nullopt;
  return HogwildSettings{AsInt(Get("parameters", "threads").value),
                         std::get<bool>(Get("parameters", "locking").value)};
}

std::vector<std::string> Config::shards() const {
  return std::get<Strings>(Get("parameters", "shards").value);
}

std::string Config::collective() const {
  return As<std::string>(Get("parameters", "collective").value).value_or("");
}

ShardSettings Config::shard_settings(const std::string& model) const {
  const auto integer = [&](const char* key) { return AsInt(Get("parameters", key).value); };
  const AlgorithmSettings algorithm = AlgorithmFor(model);
  ShardSettings settings;
  settings.workers = integer("workers");
  const RuleName name =
      RuleNamed(std::get<std::string>(Get("parameters", "rule").value)).value_or(RuleName::kSync);
  std::optional<PushForm> form;
  if (const auto text = As<std::string>(Get("parameters", "form").value))
    form = PushFormNamed(*text);
  settings.rule = algorithm.kind->many_updates
                      ? UsualRuleOfManyUpdates(name, settings.workers, form)
                      : UsualRule(name, settings.workers);
  settings.rule.form = form.value_or(settings.rule.form);
  if (const auto window = As<std::int64_t>(Get("parameters", "window").value))
    settings.rule.window = *window == 0 ? kWholeBatch : static_cast<int>(*window);
  if (const auto elastic = As<double>(Get("parameters", "elastic").value))
    settings.rule.elastic = *elastic;
  settings.rule.adag_scale = std::get<double>(Get("parameters", "adag_scale").value);
  settings.optimizer = OptimizerOf(algorithm);
  if (const auto optimizer = As<std::string>(Get("parameters", "optimizer").value))
    settings.optimizer.name = OptimizerNamed(*optimizer).value_or(settings.optimizer.name);
  settings.backup = integer("backup");
  settings.max_staleness = integer("max_staleness");
  const bool averages = IsSynchronous(name) && PushesGradient(settings.rule);
  if (averages && shards().size() == 1) settings.max_grad_norm = algorithm.max_grad_norm;
  return settings;
}

RemoteSettings Config::RemoteFor(const std::string& model) const {
  const AlgorithmSettings algorithm = AlgorithmFor(model);
  RemoteSettings settings;
  settings.shard = shard_settings(model);
  settings.shards = shards();
  settings.worker = static_cast<std::uint32_t>(AsInt(Get("parameters", "worker").value));
  settings.optimizer = OptimizerOf(algorithm);
  settings.max_grad_norm = algorithm.max_grad_norm;
  settings.server_rate = As<double>(Get("parameters", "learning_rate").value).value_or(0.0);
  settings.overlap = std::get<bool>(Get("parameters", "overlap").value);
  return settings;
}

Status Config::LeadCluster(const std::vector<std::string>& shards) {
  const auto set = [this](const char* key, ConfigValue value) {
    entries_.values[std::string("parameters.") + key] = {std::move(value), "train"};
  };
  const auto learners = static_cast<std::uint64_t>(run_.learners);
  set("mode", std::string("server"));
  set("shards", shards);
  set("worker", std::int64_t{0});
  set("workers", static_cast<std::int64_t>(learners));
  run_.actors = std::max(1, run_.actors / run_.learners);
  if (run_.steps) run_.steps = (*run_.steps + learners - 1) / learners;
  if (run_.stop_at_steps) run_.stop_at_steps = (*run_.stop_at_steps + learners - 1) / learners;
  return CheckParameters();
}

Status Config::CheckHogwild() const {
  if (!hogwild()) {
    for (const auto& [key, none] : {std::pair<const char*, ConfigValue>{"threads", std::int64_t{1}},
                                    std::pair<const char*, ConfigValue>{"locking", false}})
      if (const ConfigEntry& entry = Get("parameters", key); entry.value != none)
        return Unexpected(entry, std::string("parameters.") + key,
                          "no such line, because only rule = \"hogwild\" has threads that step one "
                          "block; take it out, or write rule = \"hogwild\" ([model] threads share "
                          "a minibatch)");
    return {};
  }
  const std::string alone = ", because hogwild is threads of one learner; ";
  if (shares_parameters())
    return Unexpected(Get("parameters", "mode"), "parameters.mode",
                      "\"local\"" + alone + "take the line out, or write rule = \"asgd\"");
  if (run_.learners > 1)
    return Unexpected(Get("run", "learners"), "run.learners",
                      "1" + alone +
                          "write threads = " + std::to_string(std::min(64, run_.learners)) +
                          " in [parameters] instead, or rule = \"asgd\"");
  if (run_.shards > 0)
    return Unexpected(Get("run", "shards"), "run.shards",
                      "0" + alone + "take the line out, or write rule = \"asgd\"");
  std::set<std::string> models = entries_.models;
  models.insert("");
  for (const std::string& model : models) MURMURATE_RETURN_IF_ERROR(CheckPlainSteps(model));
  return {};
}

Status Config::CheckPlainSteps(const std::string& model) const {
  const ConfigEntry& name = Get("optimizer", "name", model);
  const ConfigEntry& decay = Get("optimizer", "weight_decay", model);
  if (std::get<std::string>(name.value) != "sgd")
    return Unexpected({name.value, (IsDefault(name) ? Get("parameters", "rule") : name).origin},
                      PlaceOf("optimizer", "name", model),
                      "\"sgd\", because hogwild makes plain steps; write name = \"sgd\" in "
                      "[optimizer], and a learning_rate for it");
  if (std::get<double>(decay.value) != 0.0)
    return Unexpected(decay, PlaceOf("optimizer", "weight_decay", model),
                      "0, because hogwild makes plain steps; take the line out");
  return {};
}

void Config::ShareWork(int rank, int size, const std::string& directory) {
  run_.rank = rank;
  run_.ranks = size;
  const auto ranks = static_cast<std::uint64_t>(size);
  run_.actors = std::max(1, run_.actors / size);
  if (run_.steps) run_.steps = (*run_.steps + ranks - 1) / ranks;
  if (run_.stop_at_steps) run_.stop_at_steps = (*run_.stop_at_steps + ranks - 1) / ranks;
  if (rank == 0) return;
  run_.seed += kSeedStride * static_cast<std::uint64_t>(rank);
  run_.dir = directory;
  run_.name = "learner-" + std::to_string(rank);
  evaluation_.every = 0.0;
}

Status Config::CheckCollective() const {
  if (collective().empty()) return {};
  const auto refuse = [this](const std::string& section, const char* key, const std::string& what) {
    return InvalidArgument(Get(section, key).origin + ": " + section + '.' + key + ": " + what);
  };
  if (shares_parameters())
    return refuse("parameters", "collective",
                  "the ranks need no parameter server; take this line or mode = \"server\" out");
  if (run_.learners > 1 || run_.shards > 0)
    return refuse("parameters", "collective",
                  "mpirun starts the learners (mpirun -n 4 murmurate train ...); take run.learners "
                  "and run.shards out");
  if (std::get<std::string>(Get("parameters", "rule").value) != "sync")
    return refuse("parameters", "rule",
                  "the ranks of a collective always average every gradient; take the line out, or "
                  "use a parameter server");
  for (const char* key : {"shards", "worker", "workers", "form", "window", "backup", "overlap",
                          "max_staleness", "optimizer", "learning_rate"})
    if (Get("parameters", key).value != FindRule("parameters", key)->standard)
      return refuse("parameters", key,
                    "belongs to a parameter server, and a collective has none; take the line out");
  return {};
}

Status Config::CheckShards() const {
  const auto refuse = [this](const std::string& what) {
    return InvalidArgument(Get("parameters", "shards").origin + ": parameters.shards: " + what);
  };
  const Strings addresses = shards();
  if (addresses.empty())
    return refuse(
        "got none, but mode = \"server\" needs the addresses of its shards; write for "
        "example shards = [\"tcp://127.0.0.1:7430\"], or use train --learners");
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (const auto family = SisterAddresses(addresses[i]); !family.ok())
      return refuse(family.status().message());
    for (std::size_t j = 0; j < i; ++j)
      if (addresses[i] == addresses[j])
        return refuse("\"" + addresses[i] + "\" stands twice; each shard has its own");
    if (!IsLocalAddress(addresses[i]) && !server_.insecure)
      return refuse("\"" + addresses[i] +
                    "\" is beyond this host, where whoever reaches it may read and train the "
                    "model; set server.insecure = true in a network that you trust");
  }
  return {};
}

Status Config::CheckRuleOf(const std::string& model) const {
  const auto refuse = [this](const char* key, const std::string& what) {
    const ConfigEntry& entry = Get("parameters", key);
    return InvalidArgument(entry.origin + ": parameters." + key + ": " + what);
  };
  const ShardSettings settings = shard_settings(model);
  const RuleSettings& rule = settings.rule;
  const std::string name = TextOf(rule.name);
  if (Status status = CheckRule(rule); !status.ok())
    return refuse(IsDefault(Get("parameters", "form")) ? "rule" : "form", status.message());
  if (WeighsPushes(rule.name) && PushesGradient(rule) && IgnoresScale(settings.optimizer.name))
    return refuse("form", "got \"gradient\", expected \"delta\", because " + name +
                              " weighs each push, and " + TextOf(settings.optimizer.name) +
                              " on the shard divides the weight out again; take the line out, or "
                              "write optimizer = \"sgd\" and a learning_rate for it in "
                              "[parameters]");
  if (rule.name == RuleName::kAeamsgd &&
      std::get<std::string>(Get("optimizer", "name", model).value) != "momentum")
    return refuse("rule",
                  "aeamsgd is aeasgd with momentum on the worker; write name = \"momentum\" and "
                  "learning_rate = 0.1 in [optimizer], or rule = \"aeasgd\"");
  return {};
}

Status Config::CheckParameters() const {
  MURMURATE_RETURN_IF_ERROR(CheckHogwild());
  MURMURATE_RETURN_IF_ERROR(CheckCollective());
  if (!shares_parameters()) return {};
  MURMURATE_RETURN_IF_ERROR(CheckShards());
  std::set<std::string> models = entries_.models;
  models.insert("");
  for (const std::string& model : models) MURMURATE_RETURN_IF_ERROR(CheckRuleOf(model));
  const auto refuse = [this](const char* key, const std::string& what) {
    const ConfigEntry& entry = Get("parameters", key);
    return InvalidArgument(entry.origin + ": parameters." + key + ": " + what);
  };
  const RuleName name = shard_settings("").rule.name;
  const int backup = AsInt(Get("parameters", "backup").value);
  if (backup > 0 && name != RuleName::kSync && name != RuleName::kSagn)
    return refuse("backup", std::string("only sync and sagn drop late gradients, not ") +
                                TextOf(name) + "; take the line out");
  if (backup > 0 && backup >= AsInt(Get("parameters", "workers").value))
    return refuse("backup", "must be less than parameters.workers");
  if (AsInt(Get("parameters", "max_staleness").value) > 0 && IsSynchronous(name))
    return refuse("max_staleness",
                  std::string(TextOf(name)) + " waits for every worker anyway; take the line out");
  return {};
}

}  // namespace murmurate
