// What an algorithm makes of the keys that are not set, and which it refuses.
#include "server/config/algorithm_defaults.h"
#include "server/config/config.h"
#include "server/learn/algorithms.h"
#include "server/schema/section_view.h"

namespace murmurate {
namespace {

/// "no such line, because impala clips no ratio; take it out, or write name = ..."
std::string ExpectationOf(const KeyRefusal& refusal, const AlgorithmKind& kind) {
  const std::string other = refusal.instead == nullptr ? "" : FirstAlgorithm(refusal.instead).name;
  std::string because = refusal.because;
  for (const auto& [mark, name] : {std::pair<std::string, std::string>{"{}", kind.name},
                                   std::pair<std::string, std::string>{"{other}", other}})
    if (const std::size_t at = because.find(mark); at != std::string::npos)
      because.replace(at, mark.size(), name);
  return refusal.expected + ", because " + because + "; take " +
         (refusal.written ? "it" : "the line") + " out" +
         (other.empty() ? "" : ", or write name = \"" + other + '"');
}

}  // namespace

const std::string& Config::AlgorithmNameFor(const std::string& model) const {
  return std::get<std::string>(Get("algorithm", "name", model).value);
}

const AlgorithmKind& Config::KindFor(const std::string& model) const {
  const AlgorithmKind* kind = AlgorithmNamed(AlgorithmNameFor(model));
  return kind == nullptr ? DefaultAlgorithm() : *kind;
}

/// `model` "": for all that name no algorithm of their own.
void Config::SettleAlgorithm(const std::string& model) {
  auto& values = entries_.values;
  const bool own_name = model.empty() || values.contains(PathOf("algorithm", "name", model));
  const AlgorithmKind& kind = KindFor(model);
  for (const ConfigRule& rule : Schema().general) {
    const bool learning = rule.section == "algorithm" || rule.section == "optimizer";
    if (!own_name || !learning || !IsDefault(Get(rule.section, rule.key, model))) continue;
    ConfigEntry usual = DefaultOf(rule, kind);
    if (usual.value != Get(rule.section, rule.key, model).value)
      values[PathOf(rule.section, rule.key, model)] = std::move(usual);
  }
  const ConfigEntry& staleness = Get("algorithm", "staleness", model);
  const bool blocks = std::get<std::string>(staleness.value) == "block";
  if (blocks && IsDefault(Get("algorithm", "max_staleness", model)))
    values[PathOf("algorithm", "max_staleness", model)] = {std::int64_t{0}, "default of block"};
  const bool scaled = As<double>(Get("algorithm", "reward_scale", model).value) != 1.0;
  if (scaled && IsDefault(Get("algorithm", "normalize_reward", model)))
    values[PathOf("algorithm", "normalize_reward", model)] = {false, "default beside reward_scale"};
  const ConfigEntry& minibatch = Get("algorithm", "minibatch", model);
  if (IsDefault(minibatch) && std::holds_alternative<std::monostate>(
                                  DefaultOf(*Schema().Find("algorithm", "minibatch"), kind).value))
    values[PathOf("algorithm", "minibatch", model)] = {Get("algorithm", "batch_steps", model).value,
                                                       "default of " + kind.name};
}

const ConfigEntry* Config::Written(const std::string& key, const std::string& model) const {
  const auto own = entries_.values.find(PathOf("algorithm", key, model));
  const bool own_name = entries_.values.contains(PathOf("algorithm", "name", model));
  const ConfigEntry* entry = own != entries_.values.end() ? &own->second
                             : own_name                   ? nullptr
                                                          : &Get("algorithm", key);
  return entry == nullptr || IsDefault(*entry) ? nullptr : entry;
}

Status Config::CheckAlgorithm(const std::string& model) const {
  const auto refuse = [&](const ConfigEntry& entry, const std::string& key,
                          const std::string& expected) {
    return InvalidArgument(entry.origin + ": " + PlaceOf("algorithm", key, model) + ": got " +
                           ToToml(entry.value) + ", expected " + expected);
  };
  const auto number = [&](const char* key) { return AsInt(Get("algorithm", key, model).value); };
  const ConfigEntry& staleness = Get("algorithm", "staleness", model);
  const std::string& policy = std::get<std::string>(staleness.value);
  const ConfigEntry& most = Get("algorithm", "max_staleness", model);
  if (policy == "block" && number("max_staleness") > 0)
    return refuse(most, "max_staleness",
                  "0, because staleness = \"block\" is experience of the current version only; "
                  "take the line out, or write staleness = \"drop\"");
  const ConfigEntry& quorum = Get("algorithm", "quorum", model);
  if (As<double>(quorum.value).value_or(1.0) < 1.0 && policy != "block")
    return refuse(quorum, "quorum",
                  "1, because only staleness = \"block\" waits for all live agents; take the line "
                  "out, or write staleness = \"block\"");
  return {};
}

Status Config::CheckRefusals(const std::string& model) const {
  const AlgorithmKind& kind = KindFor(model);
  for (const KeyRefusal& refusal : kind.refusals) {
    const ConfigEntry* const entry =
        refusal.written ? Written(refusal.key, model) : &Get("algorithm", refusal.key, model);
    if (entry == nullptr) continue;
    const bool refused =
        refusal.refused != nullptr
            ? refusal.refused(ToKeyValue(entry->value))
            : entry->value != DefaultOf(*Schema().Find("algorithm", refusal.key), kind).value;
    if (!refused) continue;
    return InvalidArgument(entry->origin + ": " + PlaceOf("algorithm", refusal.key, model) +
                           ": got " + ToToml(entry->value) + ", expected " +
                           ExpectationOf(refusal, kind));
  }
  return {};
}

}  // namespace murmurate
