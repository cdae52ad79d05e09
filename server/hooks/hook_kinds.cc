#include "server/hooks/hook_kinds.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "server/hooks/kinds.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr std::size_t kMostHooks = 32;

std::string PrefixOf(std::size_t number) { return "hook." + std::to_string(number) + '.'; }

const HookKind& KindOf(const std::string& name) {
  const auto found = std::ranges::find(HookKinds(), name, &HookKind::name);
  MURMURATE_CHECK(found != HookKinds().end(), "a kind that the reader accepted");
  return *found;
}

Status CheckName(const SectionView& keys, const HookSettings& settings,
                 std::set<std::string>* names) {
  const bool good =
      settings.name.size() <= 64 && std::ranges::all_of(settings.name, [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
      });
  if (!good) return keys.Refuse("name", "1 to 64 of A-Z a-z 0-9 . _ -");
  if (names->insert(settings.name).second) return {};
  return keys.Refuse("name", "a name that no other hook has");
}

Status CheckModel(const SectionView& keys, const HookSettings& settings, const HookKind& kind) {
  if (settings.model != "*" || kind.all_models) return {};
  return keys.Refuse("model", "the name of one model, because a hook of kind \"" + kind.name +
                                  "\" watches only one");
}

}  // namespace

const std::vector<HookKind>& HookKinds() {
  static const std::vector<HookKind> kKinds = {
      LoggingHookKind(),      StepCounterHookKind(),     StopAtStepHookKind(),
      StopAtReturnHookKind(), StopAtLossHookKind(),      StopOnPlateauHookKind(),
      StopAtTimeHookKind(),   CheckpointSaverHookKind(), NanGuardHookKind(),
      SummarySaverHookKind(), WaitForStepHookKind(),     FinalEvaluationHookKind(),
      FeedHookKind(),         LibraryHookKind(),         CommandHookKind()};
  return kKinds;
}

const Keys<HookSettings>& HookKeys() {
  using namespace keys;
  using S = HookSettings;
  static const Keys<S> kKeys("hook", [] {
    std::vector<std::string> kinds;
    for (const HookKind& kind : HookKinds()) kinds.push_back(kind.name);
    return std::vector<Key<S>>{
        {"kind", &S::kind, "what it does", Choices(kinds), Example("\"logging\"")},
        {"name", &S::name, "in messages and `murmurate status`; usual: its kind",
         Example("\"slow-log\"")},
        {"model", &S::model, "whose events it gets; usual: the run's first model; \"*\": all",
         Example("\"default\"")},
        {"queue", &S::queue, "events that wait for it at most; later ones are dropped and counted",
         Range(1, 1 << 20)},
        {"end_s", &S::end_s, "seconds that the end of the run waits for it; 0: as its kind needs",
         Range(0, 3600)}};
  }());
  return kKeys;
}

std::vector<ConfigRule> HookRules() {
  std::vector<ConfigRule> all = HookKeys().rules();
  for (const HookKind& kind : HookKinds())
    all.insert(all.end(), kind.rules().begin(), kind.rules().end());
  return all;
}

void ResolveHooks(ConfigEntries* entries) {
  std::map<std::string, int> of_kind;
  for (std::size_t i = 0; i < entries->hooks.size(); ++i) {
    const std::string prefix = PrefixOf(i + 1), &kind = entries->hooks[i];
    const int number = ++of_kind[kind];
    const std::string name = number == 1 ? kind : kind + '-' + std::to_string(number);
    entries->values.try_emplace(prefix + "name", ConfigEntry{name, "default"});
    for (const auto* rules : {&HookKeys().rules(), &KindOf(kind).rules()})
      for (const ConfigRule& rule : *rules)
        entries->values.try_emplace(prefix + rule.key, ConfigEntry{rule.standard, "default"});
  }
}

Result<std::vector<ConfiguredHook>> MakeHooks(const ConfigEntries& entries, HookTools tools) {
  std::vector<ConfiguredHook> hooks;
  std::set<std::string> names;
  for (std::size_t i = 0; i < entries.hooks.size(); ++i) {
    const SectionView common = HookKeys().ViewAt(entries, PrefixOf(i + 1));
    if (i == kMostHooks)
      return RefuseHook(common, "more than 32 hooks; a command or a library may do several things");
    ConfiguredHook made{HookKeys().Read(common), nullptr};
    MURMURATE_RETURN_IF_ERROR(CheckName(common, made.settings, &names));
    const HookKind& kind = KindOf(made.settings.kind);
    MURMURATE_RETURN_IF_ERROR(CheckModel(common, made.settings, kind));
    tools.name = made.settings.name;
    tools.model = made.settings.model;
    auto hook =
        kind.make(SectionView(entries, kind.rules(), PrefixOf(i + 1), PrefixOf(i + 1)), tools);
    if (!hook.ok()) return hook.status();
    made.hook = *std::move(hook);
    hooks.push_back(std::move(made));
  }
  return hooks;
}

}  // namespace murmurate
