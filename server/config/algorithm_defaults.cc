#include "server/config/algorithm_defaults.h"

#include <algorithm>
#include <type_traits>

#include "server/config/run_settings.h"
#include "server/ingest/ingest_settings.h"
#include "server/learn/algorithm_keys.h"
#include "server/parameters/parameters_settings.h"

namespace murmurate {
namespace {

template <typename S>
void ResolveKeys(const Keys<S>& keys, const AlgorithmKind& kind, const std::string& model,
                 ConfigEntries* entries) {
  const SectionView view = keys.View(*entries, model);
  for (const ConfigRule& rule : keys.rules()) {
    if (!IsDefault(view[rule.key])) continue;
    ConfigEntry usual = DefaultOf(rule, kind);
    if (usual.value != view[rule.key].value)
      entries->values[PathOf(rule.section, rule.key, model)] = std::move(usual);
  }
}

/// Learners that share a model by aeamsgd make steps with momentum, at its rate.
void ResolveMomentumOfRule(const AlgorithmKind& kind, const std::string& model,
                           ConfigEntries* entries) {
  const SectionView keys = OptimizerKeys().View(*entries, model);
  const ParametersSettings parameters = ParametersKeys().Read(ParametersKeys().View(*entries));
  const bool shares = parameters.shared() || RunKeys().Read(RunKeys().View(*entries)).learners > 1;
  if (parameters.rule != RuleName::kAeamsgd || !shares || !kind.own_play ||
      !IsDefault(keys["learning_rate"]) || !IsDefault(keys["name"]))
    return;
  const auto set = [&](const char* key, ConfigValue value) {
    entries->values[PathOf("optimizer", key, model)] = {std::move(value), "default of aeamsgd"};
  };
  set("name", std::string(TextOf(OptimizerSettings::Name::kMomentum)));
  set("learning_rate", 0.1);
}

/// A sequence is three trajectories, the first of which warms the state: R2D2's 40 and 80 steps.
void ResolveSequence(const AlgorithmKind& kind, const std::string& model, ConfigEntries* entries) {
  if (!kind.sequences) return;
  const auto set = [&](const SectionView& keys, const char* section, const char* key, int value,
                       const char* origin) {
    if (IsDefault(keys[key]))
      entries->values[PathOf(section, key, model)] = {std::int64_t{value}, origin};
  };
  const SectionView algorithm = AlgorithmKeys().View(*entries, model);
  const int length = AlgorithmKeys().Read(algorithm).trajectory_length;
  set(ReplayKeys().View(*entries, model), "replay", "sequence", 3 * length,
      "default, 3 x trajectory_length");
  const int sequence = ReplayKeys().Read(ReplayKeys().View(*entries, model)).replay.sequence;
  set(algorithm, "algorithm", "burn_in", std::min(length, sequence / 2),
      "default, a trajectory and at most half a sequence");
}

}  // namespace

const AlgorithmKind& KindFor(const ConfigEntries& entries, const std::string& model) {
  return *AlgorithmKeys().Read(AlgorithmKeys().View(entries, model)).kind;
}

void ResolveAlgorithm(const std::string& model, ConfigEntries* entries) {
  const AlgorithmKind& kind = KindFor(*entries, model);
  if (model.empty() || entries->values.contains(PathOf("algorithm", "name", model))) {
    ResolveKeys(AlgorithmKeys(), kind, model, entries);
    ResolveKeys(AssemblyKeys(), kind, model, entries);
    ResolveKeys(OptimizerKeys(), kind, model, entries);
    ResolveKeys(ReplayKeys(), kind, model, entries);
    ResolveMomentumOfRule(kind, model, entries);
  }
  ResolveSequence(kind, model, entries);
  const SectionView keys = AlgorithmKeys().View(*entries, model);
  const AlgorithmSettings settings = AlgorithmKeys().Read(keys);
  const auto set = [&](const std::string& key, ConfigEntry entry) {
    if (IsDefault(keys[key])) entries->values[PathOf("algorithm", key, model)] = std::move(entry);
  };
  if (settings.staleness == StalenessPolicy::kBlock)
    set("max_staleness", {std::int64_t{0}, "default of block"});
  if (settings.reward_scale != 1.0) set("normalize_reward", {false, "default beside reward_scale"});
  const SectionView optimizer = OptimizerKeys().View(*entries, model);
  using Name = OptimizerSettings::Name;
  const AlgorithmSettings steps = OptimizerKeys().Read(optimizer);
  const bool plain = steps.optimizer == Name::kSgd || steps.optimizer == Name::kMomentum;
  // Their steps are as long as the gradient says; where they are not, a default may lengthen them.
  if (plain && steps.value_rate_factor != 1.0 && IsDefault(optimizer["value_rate_factor"]))
    entries->values[PathOf("optimizer", "value_rate_factor", model)] = {
        1.0, "default of " + std::string(TextOf(steps.optimizer))};
  const bool rate_is_set = !IsDefault(optimizer["learning_rate"]);
  if (const double kl = kind.many_updates && !rate_is_set ? 0.01 : 0.0; settings.adaptive_kl != kl)
    set("adaptive_kl", {kl, "default, by whether learning_rate is set"});
  const double followed = AlgorithmKeys().Read(AlgorithmKeys().View(*entries, model)).adaptive_kl;
  if (const double kl = std::min(5.0 * followed, 1000.0); settings.target_kl != kl)
    set("target_kl", {kl, "default, 5 x adaptive_kl"});
  const auto minibatch = std::ranges::find(AlgorithmKeys().rules(), "minibatch", &ConfigRule::key);
  const bool whole = std::holds_alternative<std::monostate>(DefaultOf(*minibatch, kind).value);
  const bool one_pass = !kind.many_updates && !kind.replays;
  if (whole || (one_pass && settings.minibatch > settings.batch_steps))
    set("minibatch", {keys["batch_steps"].value, "default of " + kind.name});
}

ConfigEntry DefaultOf(const ConfigRule& rule, const AlgorithmKind& kind) {
  const auto own = std::ranges::find_if(kind.defaults, [&](const KeyDefault& one) {
    return one.section == rule.section && one.key == rule.key;
  });
  if (own == kind.defaults.end()) return {rule.standard, "default"};
  return {std::visit([](const auto& value) -> ConfigValue { return value; }, own->value),
          "default of " + kind.name};
}

KeyValue ToKeyValue(const ConfigValue& value) {
  return std::visit(
      [](const auto& held) -> KeyValue {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_arithmetic_v<Held> || std::is_same_v<Held, std::string>) return held;
        return {};
      },
      value);
}

}  // namespace murmurate
