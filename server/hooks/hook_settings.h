// HookSettings: the keys that every [[hook]] has; HookKind: one kind with its own.
//
//   [[hook]]
//   kind = "logging"
//   every_steps = 10_000
//
// The N-th [[hook]] of a config has its entries at "hook.N.KEY".
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/hooks/hook.h"
#include "server/hooks/hook_times.h"
#include "server/schema/settings_keys.h"
#include "shared/core/check.h"

namespace murmurate {

struct HookSettings {
  std::string kind;
  std::string name;   ///< as messages and `murmurate status` have it
  std::string model;  ///< whose events it is given; "": the run's first, "*": all (if its kind may)
  int queue = 1024;   ///< events that wait for it at most; later ones are dropped
  double end_s = 0.0;  ///< how long the end of the run waits for it; 0: as its kind says

  bool MayTake(const std::string& event_model, bool is_first) const {
    return model == "*" || (model.empty() ? is_first : model == event_model);
  }
};

struct HookKind {
  std::string name;
  const std::vector<ConfigRule>& (*rules)();  ///< in section "hook.NAME"
  /// Reads and checks the keys of one; does nothing else before Hook::Start.
  Result<std::unique_ptr<Hook>> (*make)(const SectionView& keys, const HookTools& tools);
  bool all_models = false;  ///< model = "*" is accepted: it keeps what it counts by model
};

/// HookKind::rules of the keys that a function returns.
template <auto keys>
const std::vector<ConfigRule>& RulesOf() {
  return keys().rules();
}

/// Refuses a hook as a whole: "c.toml:3: hook.2 (feed): " and `why`.
inline Status RefuseHook(const SectionView& keys, const std::string& why) {
  std::string path = keys.PathOf("kind");
  path.resize(path.rfind('.'));
  const ConfigEntry& kind = keys["kind"];
  return InvalidArgument(kind.origin + ": " + path + " (" + std::get<std::string>(kind.value) +
                         "): " + why);
}

/// The keys `own`, and every_steps and every_s for a member `times`.
template <typename S>
std::vector<Key<S>> WithTimes(std::vector<Key<S>> own) {
  own.push_back({"every_steps", keys::In(&S::times, &HookTimes::every_steps),
                 "steps learned from, from one time to the next; 0: not by steps",
                 keys::Example("10_000"), keys::Range(0, kMany)});
  own.push_back({"every_s", keys::In(&S::times, &HookTimes::every_s),
                 "seconds from one time to the next; 0: not by time", keys::Example("60"),
                 keys::Range(0, 31'536'000)});
  return own;
}

/// Refuses a hook that says neither of every_steps and every_s.
inline Status NeedsTimes(const SectionView& keys, const HookTimes& times) {
  if (times.every_steps > 0 || times.every_s > 0) return {};
  return RefuseHook(keys,
                    "neither every_steps nor every_s is set, so it would never do anything; "
                    "write for example every_steps = 10_000");
}

}  // namespace murmurate
