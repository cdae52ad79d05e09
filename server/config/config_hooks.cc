// Hooks beside what else a config says.
#include "server/config/config_checks.h"
#include "server/hooks/hook_kinds.h"
#include "server/hooks/nan_guard.h"
#include "server/parameters/parameters_settings.h"

namespace murmurate {
namespace {

/// Whether others step the parameters of its models, too.
bool SharesModels(const Config& config) {
  const ParametersSettings parameters = config.parameters();
  return parameters.shared() || !parameters.collective.empty() || config.run().shards > 0 ||
         parameters.hogwild();
}

Status CheckHook(const Config& config, const SectionView& keys) {
  const std::string kind = std::get<std::string>(keys["kind"].value);
  if (kind == "final_evaluation" && config.run().environment.empty())
    return RefuseHook(keys,
                      "run.environment is not set, and it plays built-in games only; take "
                      "evaluation.share, which has your game play without exploration");
  if (kind != "nan_guard" || !SharesModels(config)) return {};
  const auto action = Named<OnNan>(std::get<std::string>(keys["action"].value));
  if (action != OnNan::kRestore) return {};
  return keys.Refuse("action", "\"stop\", because others step the parameters, too");
}

}  // namespace

Status CheckHooks(const Config& config) {
  MURMURATE_RETURN_IF_ERROR(MakeHooks(config.entries(), {}).status());
  for (std::size_t i = 0; i < config.entries().hooks.size(); ++i) {
    const std::string prefix = "hook." + std::to_string(i + 1) + '.';
    MURMURATE_RETURN_IF_ERROR(CheckHook(config, HookKeys().ViewAt(config.entries(), prefix)));
  }
  return {};
}

}  // namespace murmurate
