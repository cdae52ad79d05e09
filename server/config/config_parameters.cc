// [parameters]: one learner, or one of many around a parameter server.
#include <algorithm>

#include "server/config/config_checks.h"
#include "server/config/model_settings.h"
#include "server/ingest/ingest_settings.h"
#include "server/learn/algorithm_keys.h"
#include "server/parameters/parameters_settings.h"
#include "shared/core/check.h"
#include "shared/transport/socket.h"

namespace murmurate {
namespace {

Status CheckPlainSteps(const Config& config, const std::string& model) {
  const SectionView keys = OptimizerKeys().View(config.entries(), model);
  const AlgorithmSettings algorithm = AlgorithmFor(config, model);
  if (algorithm.optimizer != OptimizerSettings::Name::kSgd) {
    const SectionView parameters = ParametersKeys().View(config.entries());
    const ConfigEntry& blamed = IsDefault(keys["name"]) ? parameters["rule"] : keys["name"];
    return InvalidArgument(blamed.origin + ": " + keys.PathOf("name") + ": got " +
                           ToToml(keys["name"].value) +
                           ", expected \"sgd\", because hogwild makes plain steps; write name = "
                           "\"sgd\" in [optimizer], and a learning_rate for it");
  }
  if (algorithm.weight_decay != 0.0)
    return keys.Refuse("weight_decay", "0, because hogwild makes plain steps; take the line out");
  return keys.NoneOf({"value_rate_factor"}, "hogwild makes plain steps; take it out");
}

Status CheckHogwild(const Config& config, const ParametersSettings& settings) {
  const SectionView keys = ParametersKeys().View(config.entries());
  if (!settings.hogwild()) {
    for (const char* key : {"threads", "locking"})
      if (keys.Given(key))
        return keys.Superfluous(key,
                                "only rule = \"hogwild\" has threads that step one block; take it "
                                "out, or write rule = \"hogwild\" ([model] threads share a "
                                "minibatch)");
    return {};
  }
  const std::string alone = ", because hogwild is threads of one learner; ";
  const SectionView run = RunKeys().View(config.entries());
  if (settings.shared())
    return keys.Refuse("mode", "\"local\"" + alone + "take the line out, or write rule = \"asgd\"");
  if (config.run().learners > 1)
    return run.Refuse("learners", "1" + alone + "write threads = " +
                                      std::to_string(std::min(64, config.run().learners)) +
                                      " in [parameters] instead, or rule = \"asgd\"");
  if (config.run().shards > 0)
    return run.Refuse("shards", "0" + alone + "take the line out, or write rule = \"asgd\"");
  for (const std::string& model : config.models())
    MURMURATE_RETURN_IF_ERROR(CheckPlainSteps(config, model));
  return {};
}

Status CheckCollective(const Config& config, const ParametersSettings& settings) {
  const SectionView keys = ParametersKeys().View(config.entries());
  if (settings.collective.empty()) {
    for (const char* key : {"rank_warning_s", "rank_timeout_s"})
      if (keys.Given(key))
        return keys.Superfluous(
            key,
            "only the ranks of a collective wait for each other; take it out, or write "
            "collective = \"mpi\"");
    return {};
  }
  if (settings.shared())
    return keys.Blame(
        "collective",
        "the ranks need no parameter server; take this line or mode = \"server\" out");
  if (config.run().learners > 1 || config.run().shards > 0)
    return keys.Blame("collective",
                      "mpirun starts the learners (mpirun -n 4 murmurate train ...); take "
                      "run.learners and run.shards out");
  if (settings.rule != RuleName::kSync)
    return keys.Blame("rule",
                      "the ranks of a collective always average every gradient; take the line out, "
                      "or use a parameter server");
  for (const char* key : {"shards", "worker", "workers", "form", "window", "backup", "overlap",
                          "max_staleness", "optimizer", "learning_rate"})
    if (keys.Given(key))
      return keys.Blame(
          key, "belongs to a parameter server, and a collective has none; take the line out");
  return {};
}

Status CheckShards(const Config& config, const std::vector<std::string>& addresses) {
  const auto refuse = [&](const std::string& what) {
    return ParametersKeys().View(config.entries()).Blame("shards", what);
  };
  if (addresses.empty())
    return refuse(
        "got none, but mode = \"server\" needs the addresses of its shards; write for "
        "example shards = [\"tcp://127.0.0.1:7430\"], or use train --learners");
  for (auto address = addresses.begin(); address != addresses.end(); ++address) {
    if (const auto family = SisterAddresses(*address); !family.ok())
      return refuse(family.status().message());
    if (std::find(addresses.begin(), address, *address) != address)
      return refuse("\"" + *address + "\" stands twice; each shard has its own");
    if (!IsLocalAddress(*address) && !config.server().insecure)
      return refuse("\"" + *address +
                    "\" is beyond this host: any program that reaches it may read and train the "
                    "model; set server.insecure = true in a network that you trust");
  }
  return {};
}

Status CheckRuleOf(const Config& config, const std::string& model) {
  const SectionView keys = ParametersKeys().View(config.entries());
  const ShardSettings settings = ShardSettingsFor(config, model);
  const RuleSettings& rule = settings.rule;
  if (Status status = CheckRule(rule); !status.ok())
    return keys.Blame(IsDefault(keys["form"]) ? "rule" : "form", status);
  if (WeighsPushes(rule.name) && PushesGradient(rule) && IgnoresScale(settings.optimizer.name))
    return keys.Blame("form", std::string("got \"gradient\", expected \"delta\", because ") +
                                  TextOf(rule.name) + " weighs each push, and " +
                                  TextOf(settings.optimizer.name) +
                                  " on the shard divides the weight out again; take the line out, "
                                  "or write optimizer = \"sgd\" and a learning_rate for it in "
                                  "[parameters]");
  if (rule.name == RuleName::kAeamsgd &&
      AlgorithmFor(config, model).optimizer != OptimizerSettings::Name::kMomentum)
    return keys.Blame("rule",
                      "aeamsgd is aeasgd with momentum on the worker; write name = \"momentum\" "
                      "and learning_rate = 0.1 in [optimizer], or rule = \"aeasgd\"");
  return {};
}

Status CheckRateFactors(const Config& config, const ParametersSettings& settings) {
  const std::size_t given = settings.rate_factors.size();
  if (given == 0) return {};
  const SectionView keys = ParametersKeys().View(config.entries());
  const bool starts = config.run().shards > 0;  // these learners are started by `train`
  if (!starts && !settings.shared())
    return keys.Superfluous("rate_factors",
                            "only learners around a parameter server have rates of their own; take "
                            "it out, or set run.learners");
  const int learners = starts ? config.run().learners : settings.workers;
  const std::string count = std::to_string(learners);
  if (given != static_cast<std::size_t>(learners))
    return keys.Blame("rate_factors", "got " + std::to_string(given) + " factors, expected " +
                                          count + ", one for each of the " + count + " learners (" +
                                          (starts ? "run.learners" : "parameters.workers") + ")");
  if (settings.worker >= learners)
    return keys.Blame("worker", "got " + std::to_string(settings.worker) + ", expected at most " +
                                    std::to_string(learners - 1) + ", because rate_factors has " +
                                    count + " learners; give each learner a number of its own");
  return {};
}

}  // namespace

Status CheckParameters(const Config& config) {
  const ParametersSettings settings = config.parameters();
  MURMURATE_RETURN_IF_ERROR(CheckHogwild(config, settings));
  MURMURATE_RETURN_IF_ERROR(CheckCollective(config, settings));
  MURMURATE_RETURN_IF_ERROR(CheckRateFactors(config, settings));
  if (!settings.shared()) return {};
  MURMURATE_RETURN_IF_ERROR(CheckShards(config, settings.shards));
  for (const std::string& model : config.models())
    MURMURATE_RETURN_IF_ERROR(CheckRuleOf(config, model));
  const SectionView keys = ParametersKeys().View(config.entries());
  const RuleName rule = settings.rule;
  if (settings.backup > 0 && rule != RuleName::kSync && rule != RuleName::kSagn)
    return keys.Blame("backup", std::string("only sync and sagn drop late gradients, not ") +
                                    TextOf(rule) + "; take the line out");
  if (settings.backup > 0 && settings.backup >= settings.workers)
    return keys.Blame("backup", "must be less than parameters.workers");
  if (settings.max_staleness > 0 && IsSynchronous(rule))
    return keys.Blame("max_staleness", std::string(TextOf(rule)) +
                                           " waits for every worker anyway; take the line out");
  return {};
}

}  // namespace murmurate
